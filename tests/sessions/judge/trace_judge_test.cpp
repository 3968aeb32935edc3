// The judge on traces of our own engine: clean as they are, and not when one decision is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/policy_set.h"
#include "tests/sessions/judge/judged_run.h"

namespace hybridscope::test::trace_judge_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class JudgedScenario : public testing::TestWithParam<std::string> {};

TEST_P(JudgedScenario, AHealthyRunToldInFullHasNoFindings) {
  const Judgement judgement = judge(trace_of(GetParam()));
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings,
              Each(AnyOf(StartsWith("chunk-off-grid"), StartsWith("drafts-cut"))));
  EXPECT_EQ(judgement.computed[static_cast<std::size_t>(Computed::attn_metadata)], 0);
}

TEST_P(JudgedScenario, WhatIsLeftOutIsComputedAndIsRightToo) {
  std::vector<json> lines = trace_of(GetParam());
  strip(lines, lines[0]["config"]["mamba_cache_mode"] == "all");
  const Judgement judgement = judge(lines);
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings, Each(StartsWith("chunk-off-grid")));
  EXPECT_GT(judgement.computed[static_cast<std::size_t>(Computed::attn_metadata)], 0);
}

INSTANTIATE_TEST_SUITE_P(Shipped, JudgedScenario, testing::ValuesIn(shipped_scenarios()),
                         [](const auto& name) { return name.param; });

// A run in mode all whose block tables have `more` columns than ours.
std::vector<json> mode_all_with_tables(int more) {
  std::vector<json> lines = trace_of("shared_prefix_all");
  for (std::size_t step = 1; step < lines.size(); ++step)
    for (const char* const name : {"state_indices_tensor_p", "state_indices_tensor_d"}) {
      json& table = lines[step]["attn_metadata"]["1"][name];
      if (table.is_null()) continue;
      for (json& row : table["data"]) {
        if (more < 0) row = std::vector<json>(row.begin(), row.end() + more);
        for (int i = 0; i < more; ++i) row.push_back(0);
      }
      table["shape"][1] = table["shape"][1].get<int>() + more;
    }
  return lines;
}

// vLLM 0.24.0 allocates ceil(max_model_len / block_size) columns; some releases pad them.
TEST(TraceJudge, InModeAllAnEnginesBlockTableMayBeWiderOrEndWithMaxModelLen) {
  for (const int more : {-1, 1, 8}) {
    const Judgement judgement = judge(mode_all_with_tables(more));
    EXPECT_EQ(judgement.error, "") << more;
    EXPECT_THAT(judgement.findings, Each(StartsWith("chunk-off-grid"))) << more;
    EXPECT_EQ(first_difference(mode_all_with_tables(more), safe_policies()), "") << more;
  }
}

TEST(TraceJudge, ABlockTableThatEndsBeforeMaxModelLenIsRefused) {
  EXPECT_THAT(judge(mode_all_with_tables(-2)).error, HasSubstr("columns, expected"));
}

// A: align, B=8, K=1; prompt 6, step 2 accepts one draft onto the boundary: c goes 6 -> 8.
constexpr const char* kBoundary = "align_boundary_by_accepted_drafts";

TEST(TraceJudge, AnAcceptedCountThatIsTooSmallReadsAnOlderState) {
  std::vector<json> lines = trace_of("multi_turn_with_drafts");
  // The first row that a step before left with more than one accepted token, and no pre-copy.
  for (std::size_t i = 2; i < lines.size(); ++i) {
    json& batch = lines[i]["input_batch"];
    for (std::size_t r = 0; r < batch["req_ids"].size(); ++r) {
      if (batch["num_accepted_tokens_after_preprocess"][r] != 2) continue;
      batch["num_accepted_tokens_cpu"][r] = 1;
      batch["num_accepted_tokens_after_preprocess"][r] = 1;
      lines[i].erase("attn_metadata");
      const Judgement judgement = judge(lines);
      EXPECT_THAT(judgement.findings, Contains(HasSubstr("running-state-wrong")));
      return;
    }
  }
  FAIL() << "the scenario has no such row any more";
}

TEST(TraceJudge, ABoundaryCopyThatIsLeftOutPoisonsTheBlock) {
  std::vector<json> lines = trace_of(kBoundary);
  ASSERT_FALSE(lines[2]["postprocess_copies"].empty());
  lines[2]["postprocess_copies"] = json::array();
  EXPECT_THAT(judge(lines).findings, Contains("label-mismatch step 3 A: expected 8, seen 7"));
}

TEST(TraceJudge, ACopyToSomebodyElsesBlockIsFound) {
  std::vector<json> lines = trace_of(kBoundary);
  for (json& copy : lines[2]["postprocess_copies"]) copy["dest_block_id"] = 10;
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("foreign-write step 2 A")));
}

// The post-copy of step 2: column 0 with bias 1, blocks 2 and 3, to column 0, block 2. Each other
// value contradicts the rest, or our rule, so the finding is about that value, in its own step.
TEST(TraceJudge, AWrongValueOfACopyIsToldAsThatValue) {
  const auto first_finding = [](const char* key, int value) {
    std::vector<json> lines = trace_of(kBoundary);
    lines[2]["postprocess_copies"][0][key] = value;
    return judge(lines).findings.front();
  };
  EXPECT_EQ(first_finding("conv_src_block_id", 3),
            "metadata-inconsistent step 2 A: expected 2, seen 3");
  EXPECT_EQ(first_finding("temporal_src_block_id", 2),
            "metadata-inconsistent step 2 A: expected 3, seen 2");
  EXPECT_EQ(first_finding("dest_block_id", 3),
            "metadata-inconsistent step 2 A: expected 2, seen 3");
  EXPECT_EQ(first_finding("accept_token_bias", 0),
            "metadata-inconsistent step 2 A: expected 1, seen 0");
}

TEST(TraceJudge, ACopyBesideTheRightOneIsAnExtraCopy) {
  std::vector<json> lines = trace_of(kBoundary);
  json extra = lines[2]["postprocess_copies"][0];
  extra["dest_block_id"] = 3;
  lines[2]["postprocess_copies"].push_back(extra);
  EXPECT_EQ(judge(lines).findings.front(), "metadata-inconsistent step 2 A: expected 1, seen 2");
}

TEST(TraceJudge, ACopyInAModeWithoutARuleForItIsExplainedWithoutOne) {
  std::vector<json> lines = trace_of("all_mode_rows_with_drafts");
  lines[1]["preprocess_copies"] = json::array({{{"req_id", "A"},
                                                {"group", 1},
                                                {"conv_src_block_id", 4},
                                                {"temporal_src_block_id", 4},
                                                {"dest_block_id", 5},
                                                {"accept_token_bias", 0}}});
  const Judgement judgement = judge(lines);
  ASSERT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.decisions.front(), HasSubstr("the mode has no rule for it: "));
}

TEST(TraceJudge, ACopyByColumnsSaysTheSameAsOneByBlocks) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["postprocess_copies"] = {
      {{"req_id", "A"}, {"src_block_idx", 0}, {"dest_block_idx", 0}, {"accept_token_bias", 1}}};
  EXPECT_THAT(judge(lines).findings, IsEmpty());
  lines[2]["postprocess_copies"][0]["accept_token_bias"] = 0;
  EXPECT_THAT(judge(lines).findings, Contains("label-mismatch step 3 A: expected 8, seen 7"));
}

TEST(TraceJudge, AStaleWorkerTableIsFound) {
  std::vector<json> lines = trace_of(kBoundary);
  json lists = lines[1]["scheduler_block_ids"]["A"];
  lists[1][0] = 10;
  lines[1]["input_batch"]["block_ids"] = json::array({lists});
  lines[1].erase("attn_metadata");
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("block-table-mismatch step 1 A")));
}

TEST(TraceJudge, AStateIndexOfAnotherRequestIsFound) {
  std::vector<json> lines = trace_of(kBoundary);
  json& metadata = lines[2]["attn_metadata"]["1"];
  ASSERT_TRUE(metadata.contains("state_indices_tensor_d")) << metadata.dump();
  metadata["state_indices_tensor_d"]["data"][0][0] = 10;
  EXPECT_THAT(judge(lines).findings,
              Contains(AllOf(HasSubstr("step 2 A"), HasSubstr("read-of-unwritten-block"))));
}

TEST(TraceJudge, RejectedDraftsThatAreCountedAreFound) {
  std::vector<json> lines = trace_of(kBoundary);
  // Step 2 now rejects its draft, but step 3 goes on as if it had been accepted.
  lines[2]["model_runner_output"]["sampled_token_ids"][0].erase(1);
  lines[2].erase("postprocess_copies");
  lines[3]["input_batch"]["num_accepted_tokens_cpu"][0] = 1;
  EXPECT_THAT(judge(lines).findings, Contains(StartsWith("rejected-draft-counted step 3 A")));
}

TEST(TraceJudge, APostCopyThatIsMissingIsWhatWentWrongThoughALaterStepReadsTheState) {
  std::vector<json> lines = trace_of("skipped_for_a_step");
  json& copies = lines[2]["postprocess_copies"];
  ASSERT_EQ(copies[0]["req_id"], "B");
  copies.erase(0);
  EXPECT_THAT(
      judge(lines).decisions,
      ElementsAre(
          "B's post-copy of step 2: running = c + q - d = 5 + 3 - 2 = 6; new = running + a "
          "- 1 = 6 + 3 - 1 = 8; aligned = floor(8 / 8) * 8 = 8 >= running 6: bias = aligned "
          "- running = 2; source column 0, destination column 8 / 8 - 1 = 0: a copy by the "
          "rule, but none was made"));

  lines = trace_of("skipped_for_a_step");
  json& later = lines[6]["postprocess_copies"];
  ASSERT_EQ(later[0]["req_id"], "A");
  later.erase(0);
  EXPECT_THAT(judge(lines).decisions, ElementsAre(StartsWith("A's post-copy of step 6: running")));
}

TEST(TraceJudge, ATraceMayEndBeforeItsLastSamples) {
  std::vector<json> lines = trace_of(kBoundary);
  lines.back().erase("model_runner_output");
  const Judgement judgement = judge(lines);
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings, IsEmpty());
}

TEST(TraceJudge, AGraphThatDoesNotHoldTheBatchIsBadInput) {
  std::vector<json> lines = trace_of("graph_padding");
  lines[2]["cudagraph"] = {
      {"cudagraph_runtime_mode", "FULL"}, {"num_tokens", 1}, {"num_reqs", 100}, {"uniform", true}};
  EXPECT_THAT(judge(lines).error,
              StartsWith("t.jsonl:3: /cudagraph: 100 rows and 1 tokens; the batch has"));
}

TEST(TraceJudge, AWorkerThatCountsOtherTokensThanTheSchedulerIsBadInput) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["input_batch"]["num_computed_tokens_cpu"] = {5};
  EXPECT_EQ(judge(lines).error,
            "t.jsonl:3: /input_batch/num_computed_tokens_cpu/0: 5 for a request that the scheduler "
            "has at 6, "
            "expected the same");
}

TEST(TraceJudge, AMetadataFieldThatIsNoneIsNotReplacedByOurs) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["attn_metadata"]["1"]["state_indices_tensor_d"] = nullptr;
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("metadata-inconsistent step 2")));
}

TEST(TraceJudge, AMetadataFieldThatIsLeftOutIsComputedAndCounted) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["attn_metadata"]["1"].erase("state_indices_tensor_d");
  const Judgement judgement = judge(lines);
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_EQ(judgement.computed[static_cast<std::size_t>(Computed::attn_metadata)], 1);
}

TEST(TraceJudge, AnAcceptedCountOutsideOneToOnePlusKIsFoundAlsoWhenAllElseIsTraced) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["input_batch"]["num_accepted_tokens_cpu"][0] = 9;
  EXPECT_THAT(judge(lines).findings, Contains("foreign-row-datum step 2 A: expected 2, seen 9"));
}

TEST(TraceJudge, ACopyOfARequestThatIsNotInTheBatchIsFound) {
  std::vector<json> lines = trace_of("starved_request");
  lines[3]["preprocess_copies"].push_back({{"req_id", "C"},
                                           {"group", 1},
                                           {"conv_src_block_id", 2},
                                           {"temporal_src_block_id", 2},
                                           {"dest_block_id", 5}});
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("metadata-inconsistent step 3")));
}

TEST(TraceJudge, OffsetsBeyondTheBatchAreAFindingNotACrash) {
  std::vector<json> lines = trace_of("align_boundary_by_prefill");
  lines[1]["attn_metadata"]["1"]["query_start_loc_p"] = {0, 16, 0, 16};
  EXPECT_EQ(judge(lines).error, "");
}

TEST(TraceJudge, RowsThatOurBuilderWouldRefuseAreJudgedByTheEnginesMetadata) {
  std::vector<json> lines = trace_of(kBoundary);
  // The row is classed as a prefill by the engine, which reads it from has_initial_states_p.
  lines[2]["attn_metadata"]["1"]["num_decodes"] = 0;
  EXPECT_EQ(judge(lines).error, "");
}

TEST(TraceJudge, MetadataOfAnotherShapeIsBadInput) {
  std::vector<json> lines = trace_of(kBoundary);
  lines[2]["attn_metadata"]["1"]["num_decodes"] = {1, 2};
  EXPECT_EQ(judge(lines).error,
            "t.jsonl:3: /attn_metadata/1/num_decodes: is an array, expected a number");
}

// A decode row without computed tokens reads its block: zeros are the state before the first token.
TEST(TraceJudge, ABlockThatTheEngineFillsWithZerosHoldsTheStateBeforeTheFirstToken) {
  std::vector<nlohmann::json> lines = {
      {{"hybridscope_trace", 1},
       {"config",
        {{"mamba_cache_mode", "none"},
         {"num_gpu_blocks", 8},
         {"kv_cache_groups",
          {{{"type", "full_attention"}, {"block_size", 8}},
           {{"type", "mamba"}, {"block_size", 8}, {"mamba_type", "mamba1"}}}},
         {"max_model_len", 32},
         {"max_num_seqs", 2},
         {"max_num_batched_tokens", 16}}}},
      {{"step", 1},
       {"scheduler_output",
        {{"scheduled_new_reqs",
          {{{"req_id", "a"},
            {"prompt_token_ids", {7}},
            {"block_ids", {{1}, {2}}},
            {"num_computed_tokens", 0}}}},
         {"num_scheduled_tokens", {{"a", 1}}}}},
       {"scheduler_block_ids", {{"a", {{1}, {2}}}}},
       {"input_batch", {{"req_ids", {"a"}}}},
       {"attn_metadata",
        {{"1",
          {{"num_prefills", 0},
           {"num_prefill_tokens", 0},
           {"num_decodes", 1},
           {"num_decode_tokens", 1},
           {"state_indices_tensor_d", {2}},
           {"state_indices_tensor_p", nlohmann::json::array()},
           {"has_initial_states_p", nullptr},
           {"query_start_loc_p", nullptr}}}}},
       {"model_runner_output", {{"req_ids", {"a"}}, {"sampled_token_ids", {{9}}}}}}};
  EXPECT_THAT(judge(lines).findings,
              Contains("read-of-unwritten-block step 1 a: expected 0, seen 0"));
  lines[1]["scheduler_output"]["new_block_ids_to_zero"] = {2};
  EXPECT_THAT(judge(lines).findings, IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::trace_judge_test
