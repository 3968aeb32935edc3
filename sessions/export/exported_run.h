// A scenario's run as exports show it: for each step, what each request did, which blocks it holds
// and which states were copied for it; and the first error with the writes behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/check/step_checker.h"
#include "core/trace/step_trace.h"
#include "sessions/export/fault_places.h"
#include "sessions/export/runner_steps.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// A copy within a request's block table: the temporal state of column `source` goes to `target`.
struct StateMove {
  std::int32_t source = -1;  // -1: no copy
  std::int32_t target = -1;
  friend bool operator==(const StateMove&, const StateMove&) = default;
};

// One request in one step.
struct ExportedRow {
  std::string request;
  std::vector<std::string> preempts;  // requests whose blocks were freed for it
  RowClass row_class = RowClass::prefill;
  Admission admission = Admission::running;
  std::int32_t num_hit_tokens = 0;  // admission: tokens from the prefix cache
  // Admission: tokens past the hit that some group has cached and another lacks; the split may stop
  // there.
  std::int32_t num_uncached_common_prefix_tokens = 0;
  std::int32_t num_computed_tokens = 0;   // exact, before the step
  std::int32_t num_wanted_tokens = 0;     // tokens to schedule before the split of mode align
  std::int32_t num_scheduled_tokens = 0;  // drafts included
  std::int32_t num_draft_tokens = 0;
  bool placeholder_drafts = false;      // a padded one-token prompt
  std::int32_t num_sampled_tokens = 0;  // accepted, bonus token included; 0: an unfinished prompt
  bool finished = false;                // with this step's tokens
  // When the step returned, the blocks that so many computed tokens fill were registered; -1: none
  // were.
  std::int32_t num_registered_tokens = -1;
  // After scheduling, [groups][columns]. blocks: ids, 0 for the null block; keys: tokens of the
  // prefix that the block's first hash covers, 0 for a block without a hash.
  std::vector<std::vector<std::int32_t>> blocks;
  std::vector<std::vector<std::int32_t>> keys;
  StateMove pre_copy;             // before the forward pass
  StateMove post_copy;            // after sampling
  std::int64_t num_findings = 0;  // about the request
  friend bool operator==(const ExportedRow&, const ExportedRow&) = default;
};

// One number a column of the group's block list: 1 a block, 0 the null block.
std::vector<std::int32_t> held_columns(const ExportedRow& row, std::size_t group);

struct ExportedStep {
  std::int64_t step = 0;
  std::vector<std::string> preempted;       // before the step was scheduled
  std::vector<std::string> aborted;         // before the step was scheduled
  bool reset_prefix_cache = false;          // before the step was scheduled
  bool reset_running_requests = false;      // the reset also preempted the running requests
  std::vector<ExportedRow> rows;            // in the order of scheduling
  std::vector<std::string> preempted_last;  // preempted after the last row that got blocks
  std::vector<BlockCopy> block_copies;      // of whole blocks, before anything else
  std::vector<std::string> findings;        // errors and warnings, in words
  std::int64_t num_other_findings = 0;      // findings about no request of the rows
};

// The first finding of severity error, and how the wrong content came about.
struct ExportedError {
  Finding finding;
  std::string text;       // explain_finding
  std::string decision;   // the decision behind it (root_decision); may be empty
  std::string following;  // following_words
  // One line per write, latest first; empty when no write caused it.
  std::vector<std::string> chain;
};

struct ExportedRequest {
  std::string id;
  std::vector<std::int32_t> tokens;  // prompt and output; equal numbers mean equal tokens
  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_tokens = 0;
};

struct ExportedRun {
  Scenario scenario;
  EngineSetup setup;
  // The requests that ran, in the order in which they joined.
  std::vector<ExportedRequest> requests;
  std::vector<ExportedStep> steps;  // the steps in which a request ran or a command was given
  std::optional<ExportedError> error;
  std::vector<ExportedFault> faults;
  std::vector<RunnerStep> runner_steps;  // every step
};

// Errors: what the plan, the engine or the checker refuses, with `file`.
Result<ExportedRun> make_exported_run(const Scenario& scenario, const std::string& file,
                                      CheckScope scope = CheckScope::step);

// The first recurrent group; empty: the model has none.
std::optional<std::size_t> first_mamba_group(const ExportedRun& run);

}  // namespace hybridscope
