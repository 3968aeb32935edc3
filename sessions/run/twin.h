// Runs a scenario and its twin (the same scenario with some settings changed), and finds the first
// difference in block ids and its reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/spoken_words.h"
#include "sessions/run/step_judge.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// One run of a plan, with everything per frame that the comparison of two runs needs.

// One frame's decisions about one request.
struct TwinRow {
  std::string request = {};
  std::int32_t reported_num_computed_tokens = 0;  // c as the scheduler counts it
  std::int32_t num_computed_tokens = 0;           // exact c
  std::int32_t num_scheduled_tokens = 0;          // q
  std::int32_t num_draft_tokens = 0;              // d, among q
  std::int32_t num_sampled_tokens = 0;            // a; 0: a prefill chunk that samples nothing
  std::int32_t running_column = -1;               // of the mamba groups; -1: no mamba groups
  std::int32_t row = -1;                          // in the batch
  std::int32_t slot = -1;                         // V2
  std::vector<std::vector<std::int32_t>> new_block_ids = {};  // [groups]
};

struct FreedBlock {
  std::int32_t block = 0;
  std::int64_t step = 0;
  bool at_commit = false;  // freed when a frame returned, after the step's own frame was scheduled
};

struct TwinFrame {
  std::int64_t step = 0;
  std::vector<TwinRow> rows = {};           // in the scheduler's order
  std::vector<std::string> preempted = {};  // when it was scheduled
  std::vector<std::string> finished = {};   // by the frame that returned in this step
};

// An accepted count: of `num_draft_tokens` drafts that follow `position` known tokens.
struct TwinAcceptance {
  std::int64_t step = 0;
  std::int32_t num_draft_tokens = 0;
  std::int32_t num_accepted_tokens = 0;  // bonus token included
  bool scripted = false;
};

struct TwinRun {
  bool async_scheduling = false;
  ModelRunner runner = ModelRunner::v1;
  std::vector<TwinFrame> frames = {};  // ascending steps
  std::vector<FreedBlock> freed = {};  // blocks whose last holder released them, in order
  std::map<std::string, std::vector<TokenContent>> outputs = {};
  std::map<std::pair<std::string, std::int32_t>, TwinAcceptance> accepted =
      {};                                 // request, position
  std::int64_t num_findings = 0;          // of severity error
  std::optional<SpokenWords> texts = {};  // of a language model; empty: none ran
};

// Runs the plan to its end under the checker, with a language model if there is one. Errors: those
// of CheckedRun; a run that makes no progress or does not end within kMaxTwinSteps.
inline constexpr std::int64_t kMaxTwinSteps = 100000;
Result<TwinRun> record_twin_run(const RunPlan& plan, const LanguageModel& language = {});

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
