#include "sessions/judge/engine_comparison.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/policy_table.h"
#include "sessions/judge/trace_reader.h"
#include "tests/sessions/judge/compared_run.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::engine_comparison_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Five requests, some with a common prefix, in a pool and a budget that make them wait.
std::vector<AddRequest> busy_requests() {
  return {request_of(21, 20, 1, 16), request_of(27, 9, 2, 16), request_of(17, 30, 3, 16),
          request_of(3, 12, 4), request_of(40, 6, 5)};
}

SmallEngine busy_engine(MambaType type, MambaCacheMode mode, std::int32_t num_drafts) {
  return {.mamba_type = type,
          .mode = mode,
          .num_speculative_tokens = num_drafts,
          .num_blocks = 40,
          .max_num_seqs = 3,
          .max_num_batched_tokens = 24};
}

TEST(EngineComparison, OurOwnRunsAgreeWithTheProfileTheyWereMadeUnder) {
  for (const MambaType type : {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention})
    for (const MambaCacheMode mode :
         {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
      for (const std::int32_t num_drafts : {0, 3})
        for (const PolicySet& policies : {safe_policies(), reference_policies()}) {
          SmallEngine small = busy_engine(type, mode, num_drafts);
          small.policies = policies;
          EXPECT_THAT(first_difference(traced_run(engine_config(small), busy_requests()), policies),
                      IsEmpty())
              << "type " << static_cast<int>(type) << " mode " << static_cast<int>(mode)
              << " drafts " << num_drafts << (policies == safe_policies() ? " safe" : " reference");
        }
}

TEST(EngineComparison, OurOwnAsynchronousRunsAgreeToo) {
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
    for (const std::int32_t num_drafts : {0, 3})
      for (const PolicySet& policies : {safe_policies(), reference_policies()}) {
        SmallEngine small = busy_engine(MambaType::gdn_attention, mode, num_drafts);
        small.policies = policies;
        EngineConfig config = engine_config(small);
        config.async_scheduling = true;
        EXPECT_THAT(first_difference(traced_run(config, busy_requests()), policies), IsEmpty())
            << "mode " << static_cast<int>(mode) << " drafts " << num_drafts
            << (policies == safe_policies() ? " safe" : " reference");
      }
}

TEST(EngineComparison, AResetWithAFrameInFlightAgrees) {
  EngineConfig config =
      engine_config(busy_engine(MambaType::gdn_attention, MambaCacheMode::align, 3));
  config.async_scheduling = true;
  std::int64_t step = 0;
  const auto lines = traced_run(config, busy_requests(), [&step](Engine& engine) {
    if (++step == 4) {
      EXPECT_TRUE(engine.apply(ResetPrefixCache{.reset_running_requests = true}).ok());
    }
  });
  EXPECT_THAT(first_difference(lines, safe_policies()), IsEmpty());
}

TEST(EngineComparison, ARowWithTheReportedCountIsADifference) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  config.async_scheduling = true;
  std::int64_t step = 0;
  auto lines = traced_run(config, {request_of(10, 12, 1)}, [&step](Engine& engine) {
    if (++step == 2) {
      EXPECT_TRUE(engine.apply(SetAcceptedTokens{RequestId{0}, 1}).ok());
    }
  });
  EXPECT_EQ(lines[3]["input_batch"]["num_computed_tokens"], nlohmann::json({11}));
  lines[3]["input_batch"]["num_computed_tokens"] = {13};
  EXPECT_EQ(first_difference(lines, safe_policies()),
            "step 3, request r1, row 0: input_batch.num_computed_tokens: ours 11, trace 13 (rule: "
            "GPUModelRunner._prepare_inputs)");
}

// Step 1 gives the first request slot 3, the last free one.
TEST(EngineComparison, RunnerV2IsCompared) {
  std::vector<nlohmann::json> lines = trace_of("v2_slots");
  EXPECT_THAT(first_difference(lines, safe_policies()), IsEmpty());
  EXPECT_THAT(first_difference(trace_of("graph_row_padding_v2"), safe_policies()), IsEmpty());
  const int slot = lines[1]["input_batch"]["idx_mapping"][0];
  lines[1]["input_batch"]["idx_mapping"][0] = slot - 1;
  EXPECT_THAT(first_difference(lines, safe_policies()),
              HasSubstr(fmt::format("input_batch.idx_mapping: ours {}, trace {} (rule: "
                                    "RequestState.add_request)",
                                    slot, slot - 1)));
}

TEST(EngineComparison, NgramDraftsAreTakenAsTraced) {
  SmallEngine small = busy_engine(MambaType::mamba2, MambaCacheMode::align, 3);
  small.method = SpeculativeMethod::ngram;
  EXPECT_THAT(first_difference(traced_run(engine_config(small), busy_requests()), safe_policies()),
              IsEmpty());
}

TEST(EngineComparison, ShippedScenariosWithoutForcedBudgetsAgree) {
  for (const char* scenario :
       {"align_boundary_by_decode", "chunked_prefill", "eviction_under_pressure", "graph_padding",
        "multi_turn_with_drafts", "plain_decode", "prefix_cache_reset", "shared_prefix_align",
        "shared_prefix_all"})
    EXPECT_THAT(first_difference(trace_of(scenario), safe_policies()), IsEmpty()) << scenario;
}

TEST(EngineComparison, SettingsThatOurEngineRefusesAreAnError) {
  std::vector<nlohmann::json> lines =
      traced_run(engine_config(SmallEngine{}), {request_of(4, 1, 1)});
  lines[0]["config"]["hash_block_size"] = 3;
  EXPECT_THAT(first_difference(lines, safe_policies()), HasSubstr("/config: "));
}

TEST(EngineComparison, NothingIsComparedAfterTheFirstDifference) {
  std::vector<nlohmann::json> lines =
      traced_run(engine_config(SmallEngine{}), {request_of(4, 5, 1)});
  TraceReader reader("t.jsonl");
  ASSERT_TRUE(reader.read_line(lines[0].dump(), 1).ok());
  EngineComparison comparison =
      EngineComparison::create(reader.header(), safe_policies(), [](RequestId) {
        return std::string("a");
      }).value();
  lines[2]["input_batch"]["mamba_state_idx"] = {7};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    ASSERT_TRUE(reader.read_line(lines[i].dump(), static_cast<std::int64_t>(i) + 1).ok());
    comparison.compare(reader.step());
  }
  ASSERT_TRUE(comparison.first_difference().has_value());
  EXPECT_EQ(comparison.first_difference()->step, 2);
  EXPECT_EQ(comparison.first_difference()->line, 3);
  EXPECT_EQ(comparison.num_steps(), 2);
}

}  // namespace
}  // namespace hybridscope::test::engine_comparison_test
