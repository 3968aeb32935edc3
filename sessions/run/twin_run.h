// One run of a plan, with everything per frame that the comparison of two runs needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "sessions/run/language_model.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

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

}  // namespace hybridscope
