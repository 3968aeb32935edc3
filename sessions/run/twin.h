// Runs a scenario and its twin (the same scenario with some settings changed), and finds the first
// difference in block ids and its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/run/text_differences.h"
#include "sessions/run/twin_run.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Why two runs allocate different blocks; the first reason that applies.
enum class TwinReason : std::uint8_t {
  never_differ,         // the same ids in every frame, and the same rows
  order_only,           // the same ids in every frame; rows or slots differ
  preemption_timing,    // a request was preempted in another frame, or in only one run
  drafts_in_flight,     // a scheduler counted drafts of the frame in flight as computed
  ended_a_frame_later,  // a request that had ended in one run still held its blocks in the other
  freed_in_other_order  // the free queue was in another order
};

// "drafts_in_flight".
std::string_view twin_reason_name(TwinReason reason);

struct TwinComparison {
  TwinReason reason = TwinReason::never_differ;
  std::string sentence;                  // the reason, with numbers; ends with a full stop
  std::int64_t first_step = 0;           // frame of the first difference; 0: none
  std::string first_request;             // the request whose ids differ there
  std::string output_difference;         // empty: the output tokens are equal
  std::int64_t num_outputs = 0;          // tokens compared
  std::string count_difference;          // empty: the accepted counts are equal
  std::int64_t num_counts_compared = 0;  // positions that both runs verify with equally many drafts
};

struct Twins {
  TwinRun base;
  TwinRun twin;
  EngineSettings changed;  // what the twin changes
  TwinComparison comparison;
  std::vector<DifferingText> differing_texts;  // of a language model, by request

  // How the runs differ: "async" or "sync", "V1" or "V2", or both.
  std::string name_of(const TwinRun& run) const;
  bool agree() const {
    return comparison.output_difference.empty() && comparison.count_difference.empty() &&
           differing_texts.empty();
  }
};

// The settings that the scenario's twin changes; by default asynchronous scheduling is inverted.
EngineSettings twin_settings(const Scenario& scenario);

// `base` with the settings of `change` laid over it.
EngineSettings changed_settings(const EngineSettings& base, const EngineSettings& change);

// Runs the scenario and its twin, both with the language model if there is one. Errors: those of
// plan_scenario and record_twin_run, with `file`.
Result<Twins> run_twins(const Scenario& scenario, const std::string& file,
                        const LanguageModel& language = {});

// Do the block ids that a request got in a frame differ between the runs?
bool block_ids_differ(const TwinRow* base, const TwinRow* twin);

// The row of a request in a frame, and the frame of a step; null if there is none.
const TwinRow* find_row(const TwinFrame* frame, const std::string& request);
const TwinFrame* find_frame(const TwinRun& run, std::int64_t step);

// "[2 4][]": ids, group by group.
std::string block_ids_words(const std::vector<std::vector<std::int32_t>>& ids);

}  // namespace hybridscope
