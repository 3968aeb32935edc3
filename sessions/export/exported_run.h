// A scenario's run as what exports tell of it: of each step each request's part, with the blocks it
// holds and the states that were copied for it, and the first error with the writes behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/check/step_checker.h"
#include "core/trace/step_trace.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Columns of a request's block table: the temporal state of column `source` went to `target`.
struct StateMove {
  std::int32_t source = -1;  // -1: no copy
  std::int32_t target = -1;
  friend bool operator==(const StateMove&, const StateMove&) = default;
};

// One request in one step.
struct ExportedRow {
  std::string request;
  std::vector<std::string> preempts;  // whose blocks were freed for it
  RowClass row_class = RowClass::prefill;
  Admission admission = Admission::running;
  std::int32_t num_hit_tokens = 0;  // admitted: from the prefix cache
  // Admitted: tokens behind the hit that some group has and another lacks, a place to stop at.
  std::int32_t num_uncached_common_prefix_tokens = 0;
  std::int32_t num_computed_tokens = 0;   // exact, before the step
  std::int32_t num_wanted_tokens = 0;     // scheduled but for the split of mode align
  std::int32_t num_scheduled_tokens = 0;  // drafts included
  std::int32_t num_draft_tokens = 0;
  bool placeholder_drafts = false;      // a padded one-token prompt
  std::int32_t num_sampled_tokens = 0;  // accepted, bonus token included; 0: an unfinished prompt
  bool finished = false;                // with what the step brought
  // After scheduling, [groups][columns]: 1: a block is there, 0: the null block; 1: it has a hash.
  std::vector<std::vector<std::int32_t>> held;
  std::vector<std::vector<std::int32_t>> labelled;
  StateMove pre_copy;             // before the forward pass
  StateMove post_copy;            // after sampling
  std::int64_t num_findings = 0;  // about the request
  friend bool operator==(const ExportedRow&, const ExportedRow&) = default;
};

struct ExportedStep {
  std::int64_t step = 0;
  std::vector<std::string> preempted;       // before it was scheduled
  std::vector<std::string> aborted;         // the same
  bool reset_prefix_cache = false;          // before it was scheduled
  bool reset_running_requests = false;      // which preempted whoever ran
  std::vector<ExportedRow> rows;            // in the order of scheduling
  std::vector<std::string> preempted_last;  // behind the last row that got blocks
  std::vector<std::string> findings;        // in words, errors and warnings
  std::int64_t num_other_findings = 0;      // of them about no request of the rows
};

// The first finding of severity error, and what led to the content that it saw.
struct ExportedError {
  Finding finding;
  std::string text;                // explain_finding
  std::vector<std::string> chain;  // a write each, latest first; empty where no write is to blame
};

struct ExportedRequest {
  std::string id;
  std::vector<std::int32_t> tokens;  // prompt and output, equal numbers for equal tokens
  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_tokens = 0;
};

struct ExportedRun {
  Scenario scenario;
  EngineSetup setup;
  std::vector<ExportedRequest> requests;  // that ran, in the order in which they joined
  std::vector<ExportedStep> steps;        // in which somebody ran, or something was commanded
  std::optional<ExportedError> error;
};

// Errors: what the plan, the engine or the checker refuses, with `file`.
Result<ExportedRun> make_exported_run(const Scenario& scenario, const std::string& file,
                                      CheckScope scope = CheckScope::step);

// The first recurrent group; empty: the model has none.
std::optional<std::size_t> first_mamba_group(const ExportedRun& run);

}  // namespace hybridscope
