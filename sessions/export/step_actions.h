// A request's steps as the table of StepActions that vLLM's test of mamba prefix caching uses
// (tests/v1/e2e/test_mamba_prefix_cache.py): one StepAction per step.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sessions/export/exported_run.h"

namespace hybridscope {

// The five columns of the test's StepAction, and the step's number.
struct StepAction {
  std::int64_t step = 0;
  std::int32_t num_computed_tokens_start = 0;    // exact, before the forward pass
  std::int32_t num_scheduled_tokens = 0;         // drafts included
  std::vector<std::int32_t> kv_cache_block_ids;  // [columns] 1: a block is held, 0: the null block
  StateMove preprocess_copy_idx;                 // columns of the temporal state; (-1, -1): none
  StateMove postprocess_copy_idx;
  friend bool operator==(const StepAction&, const StepAction&) = default;
};

// The steps in which the request runs. Blocks are those of the first recurrent group, or of the
// first group if the model has none.
std::vector<StepAction> step_actions_of(const ExportedRun& run, const std::string& request);

// Python code: a dict from request to its list of StepAction(...), for these requests.
std::string step_actions_text(const ExportedRun& run, const std::vector<std::string>& requests);

// {scenario, model, block_size, num_speculative_tokens, async_scheduling, requests: [{request,
// num_prompt_tokens, max_tokens, step_actions: [{step, ...}]}]}
nlohmann::ordered_json step_actions_json(const ExportedRun& run,
                                         const std::vector<std::string>& requests);

}  // namespace hybridscope
