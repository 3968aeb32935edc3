// Runs that the matrix found to break hybridscope itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "sessions/matrix/cell_result.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test::found_by_the_matrix_test {
namespace {

CheckedScenario run(const std::string& text) {
  const auto scenario = parse_scenario({.text = text, .file = "found"});
  return check_scenario(scenario.value(), {}).value();
}

// A stale frame takes so much off the tokens to come that they fall below the computed ones: a row
// of 2 tokens was to have 3 drafts.
TEST(FoundByTheMatrix, MoreDraftsThanTokensAfterAStaleFrame) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "none", "num_gpu_blocks_override": 400, "block_size": 8,
      "max_model_len": 84, "max_num_seqs": 6, "max_num_batched_tokens": 256, "runner": "v2",
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 3}, "acceptance_rate": 0.0,
      "seed": 567369168, "cudagraph_mode": "PIECEWISE", "engine": "vllm@2026-06-29"},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 18},
      {"id": "C", "prompt": 1, "max_tokens": 4, "at_step": 11}],
    "script": [{"step": 9, "reset_prefix_cache": {"running": true}},
      {"step": 12, "reset_prefix_cache": {"running": true}},
      {"step": 14, "reset_prefix_cache": {"running": true}}]})");
  EXPECT_TRUE(std::ranges::any_of(checked.errors, [](const FindingKind& kind) {
    return kind.rule == Rule::rejected_draft_counted;
  }));
}

// A request seemed to have more computed tokens than known ones, whose blocks were to be registered
// by hashes that there are not.
TEST(FoundByTheMatrix, MoreComputedTokensThanKnownOnesAfterAStaleFrame) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "align", "num_gpu_blocks_override": 400, "block_size": 5,
      "max_model_len": 31, "max_num_seqs": 4, "max_num_batched_tokens": 256,
      "scheduling_policy": "priority", "speculative_config": {"method": "mtp",
      "num_speculative_tokens": 3}, "acceptance_rate": 0.0, "seed": 84887856,
      "cudagraph_mode": "PIECEWISE", "engine": "vllm@2026-06-29"},
    "requests": [{"id": "A", "prompt": 2, "max_tokens": 13, "priority": 1},
      {"id": "B", "prompt": {"tokens": 9, "share": "A", "share_tokens": 7}, "max_tokens": 7, "priority": 2, "at_step": 4},
      {"id": "C", "prompt": 16, "max_tokens": 10, "priority": 2, "at_step": 12},
      {"id": "D", "prompt": {"tokens": 19, "share": "B", "share_tokens": 16}, "max_tokens": 12, "priority": 1},
      {"id": "E", "prompt": {"tokens": 15, "share": "A", "share_tokens": 9}, "max_tokens": 11, "at_step": 3},
      {"id": "F", "prompt": {"tokens": 1, "share": "E"}, "max_tokens": 9, "priority": 1, "at_step": 11}],
    "script": [{"step": 3, "reset_prefix_cache": {"running": true}}, {"step": 4, "abort": ["A"]},
      {"step": 12, "reset_prefix_cache": {"running": true}},
      {"step": 20, "reset_prefix_cache": {"running": true}}]})");
  EXPECT_FALSE(checked.errors.empty());
}

// Known bug 2 where hits may end inside blocks: a hit longer than what attention holds had a block
// copied that was not the request's, and freed twice.
TEST(FoundByTheMatrix, NoLongerLimitWhereHitsEndInsideBlocks) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "align", "num_gpu_blocks_override": 400, "block_size": 4,
      "max_model_len": 32, "max_num_seqs": 3, "prefix_cache_retention_interval": 8,
      "prefix_match_unit": 2, "scheduling_policy": "priority", "async_scheduling": false,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
      "acceptance_rate": 0.3, "seed": 232887445, "cudagraph_mode": "NONE",
      "policies": {"mamba_eagle_lookahead": "longer_limit"}},
    "requests": [{"id": "A", "prompt": 13},
      {"id": "B", "prompt": 15, "max_tokens": 8, "priority": 1, "at_step": 6},
      {"id": "C", "prompt": {"tokens": 17, "share": "B"}, "max_tokens": 2, "priority": 1, "at_step": 2},
      {"id": "D", "prompt": {"tokens": 23, "share": "B", "share_tokens": 21}, "max_tokens": 2, "at_step": 3, "cache_salt": 1},
      {"id": "E", "prompt": {"tokens": 10, "share": "A", "share_tokens": 8}, "priority": 1, "at_step": 8},
      {"id": "F", "prompt": {"tokens": 24, "share": "D", "share_tokens": 23}, "max_tokens": 8, "priority": 1}]})");
  EXPECT_TRUE(checked.errors.empty());
}

// The policy is about steps without drafts: without speculation there is none, and a prompt of one
// token is a prefill whatever its rows without drafts read.
TEST(FoundByTheMatrix, ColumnZeroDoesNotMakeAPromptADecode) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"num_gpu_blocks_override": 8, "max_model_len": 64,
      "policies": {"no_draft_step": "column_zero"}},
    "requests": [{"id": "A", "prompt": 1, "max_tokens": 3}]})");
  EXPECT_TRUE(checked.errors.empty());
}

}  // namespace
}  // namespace hybridscope::test::found_by_the_matrix_test
