// Counts the figures of a run from its traces, step by step.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

// Who holds blocks, and what for; followed by cache events.
class BlockUseMeter {
 public:
  explicit BlockUseMeter(const EngineConfig& config);

  void take(const CacheEvent& event);

  // Distinct blocks of a kind that requests hold now.
  std::int64_t blocks(BlockKind kind) const { return blocks_[static_cast<std::size_t>(kind)]; }
  // How many blocks no request holds, but a hit can use.
  std::int64_t num_cached() const { return num_cached_; }

 private:
  struct Block {
    std::int32_t num_uses = 0;  // columns of tables that name it
    bool hashed = false;
  };
  // A request's columns of a group, and how many of them name a block.
  struct Table {
    std::vector<std::int32_t> columns;
    std::int32_t num_blocks = 0;
  };
  Table& table(RequestId request, std::int32_t group);
  void set(Table& table, std::int32_t group, std::size_t column, std::int32_t block);
  void use(std::int32_t block, std::int32_t group, std::int32_t change);
  void set_hashed(std::int32_t block, bool hashed);
  // Counts the states of a recurrent group again: the request holds `num_blocks` instead of
  // `before`.
  void recount_states(std::int32_t before, std::int32_t num_blocks);

  std::vector<bool> is_mamba_;  // [groups]
  std::int32_t num_drafts_ = 0;
  std::vector<Block> pool_;
  std::vector<std::vector<Table>> tables_;  // [requests][groups]
  std::array<std::int64_t, kNumBlockKinds> blocks_{};
  std::int64_t num_cached_ = 0;
};

class PlanMeter {
 public:
  explicit PlanMeter(const EngineConfig& config);

  void add(const StepTrace& trace);

  const PlanFigures& figures() const { return figures_; }
  // The pieces of the run, at most kMostPlanPoints, each of equally many steps but the last.
  const std::vector<PlanPoint>& points() const { return points_; }

 private:
  struct Progress {
    std::int32_t computed = 0;  // tokens with a state, after the last step with the request
    std::int32_t lost = 0;      // of these, before the last preemption; 0: none so far
  };
  Progress& progress(RequestId request);
  void count_tokens(const StepTrace& trace);
  void count_blocks(const StepTrace& trace);
  void add_point(const StepTrace& trace);

  SummaryBuilder summary_;
  BlockUseMeter blocks_;
  std::vector<Progress> progress_;  // [requests]
  std::int64_t fewest_free_ = -1;   // blocks
  PlanFigures figures_;
  std::vector<PlanPoint> points_;
  std::int64_t steps_of_point_ = 1;
};

}  // namespace hybridscope
