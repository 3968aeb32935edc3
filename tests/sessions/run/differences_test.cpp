// The worked examples of docs/differences.md: safe with one policy of the reference shows the
// finding that the page names, safe shows none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "sessions/explain/explain_finding.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::differences_test {
namespace {

using test::ExplainedRun;
using test::SmallEngine;
using ::testing::Contains;
using ::testing::HasSubstr;

using Script = std::function<void(ExplainedRun&)>;

std::vector<std::string> errors_of(const EngineConfig& config, const Script& script) {
  ExplainedRun run(config);
  script(run);
  std::vector<std::string> texts;
  for (const Finding& finding : run.findings())
    if (rule_info(finding.rule).severity == Severity::error)
      texts.push_back(explain_finding(finding, run.names()));
  return texts;
}

void accept(ExplainedRun& run, RequestId request, std::int32_t count) {
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{request, count}).ok());
}

void expect_difference(EngineConfig config, const std::function<void(PolicySet&)>& change,
                       const Script& script, const std::string& finding) {
  config.policies = safe_policies();
  EXPECT_THAT(errors_of(config, script), ::testing::IsEmpty());
  change(config.policies);
  EXPECT_THAT(errors_of(config, script), Contains(HasSubstr(finding)));
}

TEST(Differences, MambaEagleLookahead) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 14, 4, 14);
    for (int chunk = 0; chunk < 3; ++chunk) {
      ASSERT_TRUE(run.engine().apply(SetStepBudget{4}).ok());
      run.step();
    }
    run.step(8);
    run.add("B", 15, 4, 14);
    run.step(10);
  };
  expect_difference(
      test::engine_config({.block_size = 4, .num_speculative_tokens = 1}),
      [](PolicySet& policies) { policies.set(MambaEagleLookahead::longer_limit); }, script,
      "hit-longer-than-group: step 9 B group 0 (attention) column 2: the hit needs keys and "
      "values up to token 12, they are there up to 8");
}

// Attention blocks of 8 and of 16 tokens beside a mamba group.
EngineConfig two_attention_sizes() {
  EngineConfig config = test::engine_config({.block_size = 16});
  auto& groups = config.kv_cache_config.groups;
  groups.insert(groups.begin(), {.spec = FullAttentionSpec{8, 4096}, .layers = {2}});
  config.hash_block_size = 8;
  return config;
}

TEST(Differences, FullAttentionCut) {
  const auto script = [](ExplainedRun& run) {
    run.add("P", 20, 1, 16);  // leaves the state after 16 tokens
    run.step(3);
    run.add("A", 50, 12, 40);  // leaves keys and values up to 48, but no state after 32
    run.step(6);
    run.add("B", 45, 4, 40);
    run.step(9);
  };
  expect_difference(
      two_attention_sizes(),
      [](PolicySet& policies) { policies.set(FullAttentionCut::first_spec_group); }, script,
      "foreign-write: step 7 B row 1 group 1 (attention) column 1: write into block 9: the "
      "block is shared");
}

TEST(Differences, AlignedSplit) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 10, 8);
    ASSERT_TRUE(run.engine().apply(SetStepBudget{3}).ok());
    run.step();
    ASSERT_TRUE(run.engine().apply(SetStepBudget{7}).ok());
    run.step();
    run.step(6);
  };
  expect_difference(
      test::engine_config({.num_speculative_tokens = 1}),
      [](PolicySet& policies) { policies.set(AlignedSplit::until_last_cache_position); }, script,
      "label-mismatch: step 2 A group 1 (mamba2): block 2 is registered as the end of a prefix of "
      "8 tokens, but holds 3 tokens of A; written by the prefill of step 1");
}

// B's hit after A, with equal prompts of 18 tokens.
std::int32_t hit_of_a_resend(ReachableBoundaries boundaries) {
  EngineConfig config = test::engine_config({.num_speculative_tokens = 1});
  config.prefix_cache_retention_interval = 0;
  config.policies.set(PromptTailKey::never);
  config.policies.set(boundaries);
  ExplainedRun run(config);
  run.add("A", 18, 2, 18);
  run.step(6);
  run.add("B", 18, 2, 18);
  run.step(7);
  EXPECT_TRUE(run.findings().empty());
  return run.trace().lookups.at(0).num_hit_tokens;
}

TEST(Differences, ReachableBoundaries) {
  EXPECT_EQ(hit_of_a_resend(ReachableBoundaries::prompt_end), 0);
  EXPECT_EQ(hit_of_a_resend(ReachableBoundaries::replay), 8);
  EXPECT_EQ(hit_of_a_resend(safe_policies().get<ReachableBoundaries>()), 8);
}

TEST(Differences, RowClassingOfAResumedRequest) {
  const auto script = [](ExplainedRun& run) {
    const RequestId a = run.add("A", 8, 8);
    run.step(2);
    ASSERT_TRUE(run.engine().apply(PreemptRequest{a}).ok());
    run.step(6);
  };
  EngineConfig config =
      test::engine_config({.num_speculative_tokens = 1, .method = SpeculativeMethod::ngram});
  config.acceptance_rate = 0.0;
  expect_difference(
      config, [](PolicySet& policies) { policies.set(RowClassing::by_shape); }, script,
      "step 4 A row 0 group 1 (mamba2) column 1: block 3 holds the state of 9 tokens of A, "
      "expected 10");
}

TEST(Differences, RowClassingOfAOneTokenPrompt) {
  const auto script = [](ExplainedRun& run) {
    run.add("Z", 30, 1);
    run.step(2);
    run.add("A", 1, 4);
    run.step(5);
  };
  expect_difference(
      test::engine_config({.mamba_type = MambaType::gdn_attention, .mode = MambaCacheMode::none}),
      [](PolicySet& policies) { policies.set(RowClassing::by_shape); }, script,
      "step 3 A row 0 group 1 (gdn_attention) column 0: block 4 is read but was never written "
      "since it was "
      "given out; expected the state of 0 tokens");
}

TEST(Differences, AcceptedCountOwner) {
  const auto script = [](ExplainedRun& run) {
    run.add("Q", 12, 8);
    const RequestId c = run.add("C", 2, 12);
    run.step();
    accept(run, c, 2);
    run.step();
    ASSERT_TRUE(run.engine().apply(SetStepBudget{2}).ok());
    run.step();
    run.step();
  };
  expect_difference(
      test::engine_config({.num_speculative_tokens = 1}),
      [](PolicySet& policies) { policies.set(AcceptedCountOwner::persistent_row); }, script,
      "step 4 C row 1 group 1 (mamba2) column 0: block 6 holds the state of 3 tokens of C, "
      "expected 4");
}

TEST(Differences, OneTokenPrompt) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 8, 12, 8);
    run.step(3);
    run.add("B", 9, 8, 8);
    run.step(6);
  };
  expect_difference(
      test::engine_config({.num_speculative_tokens = 3, .method = SpeculativeMethod::ngram}),
      [](PolicySet& policies) { policies.set(OneTokenPrompt::padded_with_placeholders); }, script,
      "step 5 B row 1 group 1 (mamba2) column 1: block 9 holds the state of 12 tokens of B, "
      "expected 9");
}

TEST(Differences, NoDraftStep) {
  const auto script = [](ExplainedRun& run) {
    const RequestId a = run.add("A", 5, 12);
    run.step();
    accept(run, a, 3);
    run.step();
    ASSERT_TRUE(run.engine().apply(SetDraftTokens{a, 0}).ok());
    run.step();
  };
  expect_difference(
      test::engine_config({.mode = MambaCacheMode::none, .num_speculative_tokens = 3}),
      [](PolicySet& policies) { policies.set(NoDraftStep::column_zero); }, script,
      "holds the state of 6 tokens of A, expected 8");
}

TEST(Differences, UniformDecodeTest) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 3, 4);
    run.step(2);
  };
  expect_difference(
      test::engine_config({.mode = MambaCacheMode::none, .num_speculative_tokens = 2}),
      [](PolicySet& policies) { policies.set(UniformDecodeTest::by_shape); }, script,
      "stale-persistent-array: step 1 group 1 (mamba2)");
}

TEST(Differences, AllModeSpeculation) {
  const auto script = [](ExplainedRun& run) {
    const RequestId a = run.add("A", 5, 12);
    run.step();
    for (int i = 0; i < 2; ++i) {
      accept(run, a, 2);
      run.step();
    }
    run.step(5);
  };
  expect_difference(
      test::engine_config({.mode = MambaCacheMode::all, .num_speculative_tokens = 3}),
      [](PolicySet& policies) {
        policies.set(AllModeSpeculation::full_steps_remembered_no_copies);
      },
      script, "block 2 is registered as the end of a prefix of 8 tokens, but holds 5 tokens of A");
}

TEST(Differences, BlockRegistration) {
  const auto script = [](ExplainedRun& run) {
    AddRequest low = test::request_of(14, 4, 1);
    low.name = "L";
    low.priority = 5;
    ASSERT_TRUE(run.engine().add_request(low).ok());
    run.step(2);
    run.add("H", 8, 4);
    run.step(4);
  };
  EngineConfig config = test::engine_config({.num_blocks = 6});
  config.scheduling_policy = SchedulingPolicy::priority;
  expect_difference(
      config, [](PolicySet& policies) { policies.set(BlockRegistration::at_allocation); }, script,
      "is registered as the end of a prefix of 16 tokens, but holds 15 tokens of L");
}

EngineConfig runner_v2(const SmallEngine& small) {
  EngineConfig config = test::engine_config(small);
  config.runner = ModelRunner::v2;
  return config;
}

TEST(Differences, RowOrder) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 5, 30);
    run.step();
    run.add("B", 20, 4);
    accept(run, RequestId{0}, 3);
    ASSERT_TRUE(run.engine().apply(SetStepBudget{22}).ok());
    run.step();
    run.step();
  };
  expect_difference(
      runner_v2({.mode = MambaCacheMode::none, .num_speculative_tokens = 3}),
      [](PolicySet& policies) { policies.set(RowOrder::query_len); }, script,
      "step 3 A row 1 group 1 (mamba2) column 0: block 2 holds the state of 6 tokens of A, "
      "expected 8");
}

TEST(Differences, InitialStateColumn) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 18, 2, 18);
    ASSERT_TRUE(run.engine().apply(SetStepBudget{16}).ok());
    run.step(4);
    run.add("B", 20, 4, 18);
    run.step();
  };
  EngineConfig config = runner_v2({.block_size = 16,
                                   .num_speculative_tokens = 1,
                                   .method = SpeculativeMethod::ngram,
                                   .max_model_len = 96});
  config.block_size = 4;
  expect_difference(
      config,
      [](PolicySet& policies) { policies.set(InitialStateColumn::cache_config_block_size); },
      script, "column 3: copied from a block that holds no state");
}

TEST(Differences, SlotCountReset) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 8, 9);
    run.add("Z", 5, 30);
    run.step();
    ASSERT_TRUE(run.engine().apply(PreemptRequest{RequestId{0}}).ok());
    ASSERT_TRUE(run.engine().apply(SetDraftTokens{RequestId{1}, 3}).ok());
    accept(run, RequestId{1}, 4);
    ASSERT_TRUE(run.engine().apply(SetStepBudget{4}).ok());
    run.step();
    ASSERT_TRUE(run.engine().apply(AbortRequest{RequestId{1}}).ok());
    run.step();
  };
  expect_difference(
      runner_v2({.mode = MambaCacheMode::all,
                 .num_speculative_tokens = 3,
                 .method = SpeculativeMethod::ngram}),
      [](PolicySet& policies) { policies.set(SlotCountReset::align_only); }, script,
      "column 3: block 8 is read but was never written since it was given out");
}

EngineConfig asynchronous(const SmallEngine& small, double acceptance_rate) {
  EngineConfig config = test::engine_config(small);
  config.async_scheduling = true;
  config.acceptance_rate = acceptance_rate;
  return config;
}

TEST(Differences, AcceptedCountLanding) {
  const auto script = [](ExplainedRun& run) {
    run.add("D1", 5, 4);
    run.add("D2", 5, 30);
    run.add("P", 9, 1);
    run.step(30);
  };
  expect_difference(
      asynchronous({.num_speculative_tokens = 2, .max_num_seqs = 2}, 1.0),
      [](PolicySet& policies) {
        policies.set(AcceptedCountOwner::persistent_row);
        policies.set(AcceptedCountLanding::before_row_moves);
      },
      script, "foreign-row-datum: step 4 D2 row 0: the accepted count is 1, the request's is 3");
}

TEST(Differences, StaleFrame) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 5, 20);
    run.step(2);
    ASSERT_TRUE(run.engine().apply(ResetPrefixCache{true}).ok());
    run.step(5);
  };
  expect_difference(
      asynchronous({.num_speculative_tokens = 2}, 0.0),
      [](PolicySet& policies) { policies.set(StaleFrame::discard_by_token_count); }, script,
      "rejected-draft-counted: step 4 A: computed tokens before the step are 4, expected 6");
}

TEST(Differences, DeferredFreeRefusal) {
  const auto script = [](ExplainedRun& run) {
    run.add("A", 5, 12);
    run.add("B", 5, 12);
    for (int step = 0; step < 100 && run.engine().num_unfinished() > 0; ++step) run.step();
  };
  EngineConfig config =
      asynchronous({.block_size = 4, .num_speculative_tokens = 1, .num_blocks = 9}, 0.0);
  config.kv_consumer = true;
  expect_difference(
      config, [](PolicySet& policies) { policies.set(DeferredFreeRefusal::preempt_on); }, script,
      "no-progress: step 80: 322 tokens computed since any request got further");
}

TEST(Differences, ThePageHasASectionForEveryPolicy) {
  std::ifstream file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/differences.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const Policy& policy : policy_table()) {
    EXPECT_THAT(page.str(), HasSubstr("\n## `" + std::string(policy.text.name) + "`\n"));
    for (const std::string_view value : policy.text.value_names())
      EXPECT_THAT(page.str(), HasSubstr("`" + std::string(value) + "`"));
  }
}

}  // namespace
}  // namespace hybridscope::differences_test
