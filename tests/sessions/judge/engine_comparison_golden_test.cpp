// The reference's chained runs, as traces, against our engine: all agree with profile reference;
// with profile safe they part where docs/differences.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/engine/policy_table.h"
#include "sessions/judge/pipeline_trace.h"
#include "tests/sessions/judge/compared_run.h"
#include "tests/support/golden.h"

namespace hybridscope::test::engine_comparison_golden_test {
namespace {

using ::testing::IsEmpty;

// First differences by the case's name.
std::map<std::string, std::string> pipeline_differences(const PolicySet& policies) {
  std::map<std::string, std::string> differences;
  std::int64_t number = 0;
  for_each_line("pipeline", [&](const std::string& line) {
    const auto lines = pipeline_trace(line, "pipeline.jsonl", ++number).value();
    differences[Json::parse(lines[0])["name"]] = first_difference(lines, policies);
  });
  return differences;
}

TEST(EngineComparison, AllChainedRunsOfTheReferenceAgreeWithReference) {
  const auto differences = pipeline_differences(reference_policies());
  EXPECT_EQ(differences.size(), 110U);
  for (const auto& [name, difference] : differences) EXPECT_THAT(difference, IsEmpty()) << name;
}

TEST(EngineComparison, ChainedRunsOfTheReferencePartFromSafeAtItsPolicies) {
  const auto differences = pipeline_differences(safe_policies());
  // aligned_split
  EXPECT_EQ(differences.at("pipe_0"),
            "step 3, request r1: num_scheduled_tokens: ours 4, trace 5 (rule: "
            "Scheduler._mamba_block_aligned_split)");
  // one_token_prompt
  EXPECT_EQ(differences.at("pipe_15"),
            "step 3, request r1: num_scheduled_tokens: ours 1, trace 4 (rule: Scheduler.schedule)");
  // mamba_eagle_lookahead
  EXPECT_EQ(differences.at("pipe_31"),
            "step 4, request r1: num_computed_tokens: ours 0, trace 4 (rule: "
            "KVCacheManager.get_computed_blocks)");
  // accepted_count_owner
  EXPECT_EQ(differences.at("pipe_46"),
            "step 13, request r5, row 1: num_accepted_tokens_cpu: ours 2, trace 1 (rule: "
            "InputBatch.add_request, GPUModelRunner._update_states_after_model_execute)");
}

}  // namespace
}  // namespace hybridscope::test::engine_comparison_golden_test
