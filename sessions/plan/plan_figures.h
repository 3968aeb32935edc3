// What a plan reports of one run: exact counts from its decisions. Averages are kept as sums, so
// that results are equal wherever they were made (docs/plan.md, Figures).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sessions/plan/plan_latency.h"

namespace hybridscope {

// What a block of the pool is used for. Blocks of a recurrent group that a request holds are its
// running state, one for each draft token, and otherwise snapshots that later hits can start from.
enum class BlockKind : std::uint8_t { attention, running_state, draft, snapshot };
inline constexpr std::size_t kNumBlockKinds = 4;
inline constexpr std::array<std::string_view, kNumBlockKinds> kBlockKindWords = {
    "attention", "running state", "drafts", "snapshots"};

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
  std::int64_t running = 0;                           // sum over its steps, as the next two
  std::array<std::int64_t, kNumBlockKinds> blocks{};  // [BlockKind]
  std::int64_t cached_blocks = 0;
  std::int64_t hit_tokens = 0;     // from the start of the run to the end of the piece
  std::int64_t prompt_tokens = 0;  // the same
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

}  // namespace hybridscope
