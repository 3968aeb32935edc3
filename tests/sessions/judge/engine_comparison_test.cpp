#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/engine/policy_table.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/golden.h"
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

// The reference's chained runs, as traces, against our engine: all agree with profile reference;
// with profile safe they part where docs/differences.md says.

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

// The reference's chained vectors, judged: what is found, and which known bug explains it
// (docs/trace-format.md, "What the reference's own vectors show").

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

std::map<std::string, std::vector<std::string>> pipeline_traces() {
  std::map<std::string, std::vector<std::string>> traces;
  std::int64_t number = 0;
  for_each_line("pipeline", [&](const std::string& line) {
    auto lines = pipeline_trace(line, "pipeline.jsonl", ++number).value();
    const std::string name = nlohmann::json::parse(lines[0])["name"];
    traces.emplace(name, std::move(lines));
  });
  return traces;
}

// Errors only, "slug REQUEST", the first of each.
std::map<std::string, std::string> first_findings(const Judgement& judgement) {
  std::map<std::string, std::string> first;
  for (const std::string& text : judgement.findings) {
    if (text.starts_with("chunk-off-grid") || text.starts_with("drafts-cut")) continue;
    const std::size_t step = text.find(" step ");
    const std::size_t name = text.find(' ', step + 6);
    first.try_emplace(text.substr(name + 1, text.find(':') - name - 1), text);
  }
  return first;
}

TEST(PipelineTrace, Pipe46ReadsTheStateOfSevenTokensWhereEightWereAccepted) {
  const Judgement judgement = judge(pipeline_traces().at("pipe_46"));
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings, Contains("running-state-wrong step 13 r5: expected 8, seen 7"));
}

// Case and request -> known bug that explains its first finding.
const std::map<std::pair<std::string, std::string>, std::pair<int, std::string>> kExplained = {
    {{"pipe_1", "r3"}, {8, "running-state-wrong step 5"}},
    {{"pipe_15", "r1"}, {8, "running-state-wrong step 4"}},
    {{"pipe_15", "r2"}, {8, "running-state-wrong step 6"}},
    {{"pipe_22", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_24", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_28", "r3"}, {2, "hit-longer-than-group step 6"}},
    {{"pipe_31", "r1"}, {2, "hit-longer-than-group step 4"}},
    {{"pipe_37", "r4"}, {8, "running-state-wrong step 11"}},
    {{"pipe_42", "r3"}, {2, "hit-longer-than-group step 4"}},
    {{"pipe_42", "r5"}, {2, "hit-longer-than-group step 8"}},
    {{"pipe_44", "r2"}, {1, "label-mismatch step 3"}},
    {{"pipe_46", "r5"}, {48, "running-state-wrong step 13"}},
    {{"pipe_67", "r1"}, {8, "running-state-wrong step 4"}},
    {{"pipe_68", "r4"}, {8, "running-state-wrong step 8"}},
    {{"pipe_78", "r2"}, {8, "running-state-wrong step 3"}},
    {{"pipe_79", "r5"}, {8, "running-state-wrong step 15"}},
    {{"pipe_93", "r3"}, {8, "running-state-wrong step 7"}},
    {{"pipe_98", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_98", "r4"}, {8, "running-state-wrong step 6"}},
    {{"pipe_106", "r2"}, {8, "running-state-wrong step 4"}},
};

// Had the request a padded one-token prompt (drafts of -1) before this step?
bool was_padded(const std::vector<std::string>& lines, const std::string& request) {
  for (const std::string& line : lines) {
    const auto drafts = nlohmann::json::parse(line)
                            .value("scheduler_output", nlohmann::json::object())
                            .value("scheduled_spec_decode_tokens", nlohmann::json::object());
    if (drafts.contains(request) && drafts[request][0] == -1) return true;
  }
  return false;
}

TEST(PipelineTrace, EveryFindingInTheReferencesVectorsIsAKnownBug) {
  std::map<std::pair<std::string, std::string>, std::string> found;
  for (const auto& [name, lines] : pipeline_traces()) {
    const Judgement judgement = judge(lines);
    EXPECT_EQ(judgement.error, "") << name;
    for (const auto& [request, text] : first_findings(judgement)) found[{name, request}] = text;
  }
  for (const auto& [place, text] : found)
    EXPECT_TRUE(kExplained.contains(place)) << place.first << " " << place.second << ": " << text;
  for (const auto& [place, expected] : kExplained) {
    ASSERT_TRUE(found.contains(place)) << place.first << " " << place.second;
    EXPECT_THAT(found.at(place), StartsWith(expected.second)) << place.first;
  }
}

TEST(PipelineTrace, RequestsExplainedByKnownBug8HadAPaddedPrompt) {
  const auto traces = pipeline_traces();
  for (const auto& [place, expected] : kExplained) {
    if (expected.first != 8) continue;
    EXPECT_TRUE(was_padded(traces.at(place.first), place.second)) << place.first;
  }
}

TEST(PipelineTrace, AVectorWithoutAMemberIsNamedWithLineAndPlace) {
  const auto lines = pipeline_trace(R"({"id": "x", "config": {}})", "p.jsonl", 7);
  ASSERT_FALSE(lines.ok());
  EXPECT_THAT(lines.error().message, StartsWith("p.jsonl:7: "));
}

}  // namespace

}  // namespace hybridscope::test::engine_comparison_test
