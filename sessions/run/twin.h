// Twins: one scenario run twice, as told and with some settings changed, and the first difference
// in block ids with its reason, found in the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "sessions/run/twin_run.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Why two runs give out other blocks, the first that applies.
enum class TwinReason : std::uint8_t {
  never_differ,         // the same ids in every frame, the same rows too
  order_only,           // the same ids in every frame; rows or slots differ
  preemption_timing,    // a request was preempted in another frame, or in one run only
  drafts_in_flight,     // the scheduler counted on drafts of the frame in flight
  ended_a_frame_later,  // a request that had ended in one run held its blocks in the other
  freed_in_other_order  // the free queue had another order
};

// "drafts_in_flight".
std::string_view twin_reason_name(TwinReason reason);

struct TwinComparison {
  TwinReason reason = TwinReason::never_differ;
  std::string sentence;                  // why, with numbers; ends with a full stop
  std::int64_t first_step = 0;           // frame of the first difference; 0: none
  std::string first_request;             // whose ids differ there
  std::string output_difference;         // empty: the same output tokens
  std::int64_t num_outputs = 0;          // tokens compared
  std::string count_difference;          // empty: the same accepted counts
  std::int64_t num_counts_compared = 0;  // positions that both runs verify alike
};

struct Twins {
  TwinRun told;
  TwinRun twin;
  EngineSettings changed;  // what the twin changes
  TwinComparison comparison;

  // What distinguishes the runs: "async", "sync"; "V1", "V2"; both.
  std::string name_of(const TwinRun& run) const;
  bool agree() const {
    return comparison.output_difference.empty() && comparison.count_difference.empty();
  }
};

// What the scenario's twin changes; without one, asynchronous scheduling the other way round.
EngineSettings twin_settings(const Scenario& scenario);

// `base` with the settings that `change` has.
EngineSettings changed_settings(const EngineSettings& base, const EngineSettings& change);

// Runs both. Errors: those of plan_scenario and record_twin_run, with `file`.
Result<Twins> run_twins(const Scenario& scenario, const std::string& file);

// The block ids that a request got in a frame of either run differ.
bool block_ids_differ(const TwinRow* told, const TwinRow* twin);

// The row of a request in a frame, or null; the frame of a step, or null.
const TwinRow* find_row(const TwinFrame* frame, const std::string& request);
const TwinFrame* find_frame(const TwinRun& run, std::int64_t step);

// "[2 4][]": ids by group.
std::string block_ids_words(const std::vector<std::vector<std::int32_t>>& ids);

}  // namespace hybridscope
