// What a plan reports of one run: exact counts from its decisions. Averages are kept as sums, so
// that results are equal wherever they were made (docs/plan.md, Figures).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/run/run_summary.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {

// What follows from an assumed step time: when requests get their tokens.

// Counts durations in classes that are 1/64 of their value wide.
class DurationCounts {
 public:
  void add(std::int64_t us, std::int64_t count = 1);
  // The smallest duration that at least `percent` of all have or stay below, rounded down to its
  // class; 0 without durations. 0 < percent <= 100.
  std::int64_t percentile(std::int32_t percent) const;

 private:
  std::map<std::int64_t, std::int64_t> counts_;  // by the smallest duration of the class
  std::int64_t num_ = 0;
};

struct Percentiles {
  std::int64_t p50_us = 0;
  std::int64_t p90_us = 0;
  std::int64_t p99_us = 0;
  friend bool operator==(const Percentiles&, const Percentiles&) = default;
};

// A count over the steps of a run.
struct CountOverSteps {
  std::int64_t most = 0;
  std::int64_t sum = 0;  // over all steps
  void add(std::int64_t value) {
    most = value > most ? value : most;
    sum += value;
  }
  friend bool operator==(const CountOverSteps&, const CountOverSteps&) = default;
};

// When most requests waited, and when none did again: steps, or times in microseconds.
struct LongestQueue {
  std::int64_t at = 0;     // the first step with the most
  std::int64_t empty = 0;  // the first one after it in which none waits; 0: there is none
  // `most`: of the steps before this one.
  void add(std::int64_t waiting, std::int64_t most, std::int64_t where) {
    if (waiting > most) *this = {.at = where};
    if (waiting == 0 && most > 0 && empty == 0) empty = where;
  }
  friend bool operator==(const LongestQueue&, const LongestQueue&) = default;
};

struct PlanLatency {
  std::int64_t span_us = 0;    // from the first arrival to the end of the last step
  LongestQueue queue;          // from the first arrival to the start of a step
  Percentiles first_token;     // from the arrival of a request to its first token
  Percentiles between_tokens;  // tokens of one step share the time since the last one
  friend bool operator==(const PlanLatency&, const PlanLatency&) = default;
};

class LatencyMeter {
 public:
  // `requests`: of the plan; must outlive this object.
  explicit LatencyMeter(std::span<const ArrivingRequest> requests);

  // A step of the engine, before the next one.
  void add(const StepTrace& trace, const Engine& engine);
  PlanLatency latency() const;

 private:
  struct Request {
    std::int64_t arrival_us = 0;
    std::int64_t last_token_us = -1;  // -1: none yet
  };
  Request& request(RequestId id);

  std::int64_t arrival_of(const ArrivingRequest& arriving) const;

  std::map<std::string_view, const ArrivingRequest*> arrivals_;  // by name
  std::map<std::string_view, std::int64_t> ends_us_;  // of requests that others wait for, by name
  std::vector<Request> requests_;                     // by id
  DurationCounts first_token_;
  DurationCounts between_tokens_;
  std::int64_t first_arrival_us_ = -1;
  std::int64_t end_us_ = 0;
  std::int64_t most_waiting_ = 0;
  LongestQueue queue_;
};

// What a block of the pool is used for. Blocks of a recurrent group that a request holds are its
// running state, one for each draft token, and otherwise snapshots that later hits can start from.
enum class BlockKind : std::uint8_t { attention, running_state, draft, snapshot };
inline constexpr std::size_t kNumBlockKinds = 4;
inline constexpr std::array<std::string_view, kNumBlockKinds> kBlockKindWords = {
    "attention", "running state", "drafts", "snapshots"};

struct PlanFigures {
  std::int64_t steps = 0;
  std::int64_t request_steps = 0;  // rows over all steps
  std::int64_t requests_finished = 0;
  std::int64_t prompt_tokens = 0;           // of admitted requests, once each
  std::int64_t hit_tokens = 0;              // of their first admission, from the prefix cache
  std::int64_t computed_prompt_tokens = 0;  // of prompts, those computed again included
  std::int64_t output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t lost_tokens = 0;  // computed again because a preemption threw them away
  std::int64_t state_copies = 0;
  std::int64_t state_copy_bytes = 0;
  std::int64_t graph_padded_tokens = 0;
  CountOverSteps running;  // requests that have blocks
  CountOverSteps waiting;
  LongestQueue queue;  // in steps
  std::int64_t last_arrival_step = 0;
  std::array<CountOverSteps, kNumBlockKinds> blocks;  // [BlockKind] that a request holds
  CountOverSteps used_blocks;                         // all kinds
  CountOverSteps cached_blocks;                       // that no request holds, but a hit can use
  std::int64_t worst_step = 0;  // the first of those with the fewest free blocks
  PlanLatency latency;          // only where a step time is assumed
  friend bool operator==(const PlanFigures&, const PlanFigures&) = default;

  double hit_rate() const { return ratio(hit_tokens, prompt_tokens); }  // 0..1
  double average(const CountOverSteps& count) const { return ratio(count.sum, steps); }
  // Output tokens a second, under the assumed step time.
  double throughput() const { return 1e6 * ratio(output_tokens, latency.span_us); }

 private:
  static double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
};

// A piece of a run, for curves over time.
struct PlanPoint {
  std::int64_t first_step = 0;
  std::int64_t time_us = 0;  // when it starts
  std::int64_t steps = 0;
  std::int64_t running = 0;                           // sum over its steps, as the next three
  std::int64_t waiting = 0;                           // requests
  std::array<std::int64_t, kNumBlockKinds> blocks{};  // [BlockKind]
  std::int64_t cached_blocks = 0;
  std::int64_t hit_tokens = 0;         // from the start of the run to the end of the piece
  std::int64_t prompt_tokens = 0;      // the same
  void append(const PlanPoint& next);  // the piece that follows
  friend bool operator==(const PlanPoint&, const PlanPoint&) = default;
};
inline constexpr std::size_t kMostPlanPoints = 128;

// One figure: a row here gives it to results as JSON and to the check that merged results agree.
struct PlanFigure {
  std::string_view key;  // in JSON
  std::int64_t& (*value)(PlanFigures&);
  bool of_time = false;  // absent where no step time is assumed
};
std::span<const PlanFigure> plan_figures();

// Counts the figures of a run from its traces, step by step.

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
