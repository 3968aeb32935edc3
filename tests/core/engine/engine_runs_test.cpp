// Whole runs: determinism, the same tokens whatever the mode and the budget, simulated time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/core/engine/oracle_agreement.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::engine_runs_test {
namespace {

using TokensByPosition = std::map<std::int32_t, TokenContent>;

// Everything of a step that is a number: rows, tokens, tables, copies, counts.
std::vector<std::uint64_t> digest(const StepTrace& trace) {
  std::vector<std::uint64_t> result{static_cast<std::uint64_t>(trace.time_us),
                                    static_cast<std::uint64_t>(trace.num_free_blocks)};
  const auto put = [&](auto value) { result.push_back(static_cast<std::uint64_t>(value)); };
  for (const RowTrace& row : trace.rows) {
    put(row.request.value);
    put(row.num_accepted_tokens);
    put(row.num_sampled_tokens);
    for (const Fingerprint fingerprint : row.history) put(fingerprint);
  }
  for (const TokenContent token : trace.tokens) put(token);
  for (const GroupTrace& group : trace.groups)
    for (std::int32_t i = 0; i < group.block_table.size(); ++i) put(group.block_table.data[i]);
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies) {
      put(copy.conv_src_block);
      put(copy.temporal_src_block);
      put(copy.dst_block);
    }
  return result;
}

void add_three_requests(Engine& engine) {
  engine.add_request(request_of(20, 12, 1)).value();
  engine.add_request(request_of(9, 20, 2, 6)).value();
  engine.add_request(request_of(30, 5, 3, 16)).value();
}

// Tokens that each request computed and kept; not its last one, which only drafts compute.
std::map<std::int32_t, TokensByPosition> computed_tokens(const EngineConfig& config) {
  CheckedEngine run(config);
  add_three_requests(run.engine());
  std::map<std::int32_t, TokensByPosition> result;
  while (run.engine().num_unfinished() > 0) {
    const StepTrace& trace = run.step();
    std::size_t next = 0;
    for (const RowTrace& row : trace.rows) {
      const ScheduledTrace& scheduled = trace.scheduled_of(row);
      const CommitTrace& commit = trace.committed[static_cast<std::size_t>(row.scheduled)];
      for (std::int32_t i = 0; i < scheduled.num_scheduled_tokens; ++i, ++next) {
        const std::int32_t position = row.num_computed_tokens + i;
        if (position >= std::min(commit.num_computed_tokens, commit.num_tokens - 1)) continue;
        TokensByPosition& tokens = result[row.request.value];
        const auto [found, added] = tokens.try_emplace(position, trace.tokens[next]);
        EXPECT_EQ(found->second, trace.tokens[next]) << "recomputed with another token";
      }
    }
  }
  EXPECT_TRUE(run.findings().empty()) << describe(run.findings().front());
  return result;
}

// Lengths of the draft lists that the decode steps of one request got.
std::vector<std::int32_t> draft_lists(ModelRunner runner, bool asynchronous) {
  EngineConfig config =
      engine_config({.num_speculative_tokens = 3, .method = SpeculativeMethod::ngram});
  config.runner = runner;
  config.async_scheduling = asynchronous;
  CheckedEngine run(config);
  run.add(request_of(6, 12, 1));
  std::vector<std::int32_t> lengths;
  while (run.engine().num_unfinished() > 0)
    for (const ScheduledTrace& scheduled : run.step().scheduled)
      if (scheduled.num_computed_tokens >= 6) lengths.push_back(scheduled.num_drafts_offered);
  EXPECT_TRUE(run.findings().empty()) << describe(run.findings().front());
  return lengths;
}

TEST(EngineRuns, NgramOnRunnerV2AlwaysDraftsK) {
  using ::testing::Contains;
  using ::testing::Each;
  using ::testing::Lt;
  using ::testing::Not;
  EXPECT_THAT(draft_lists(ModelRunner::v1, false), Contains(Lt(3)));
  for (const bool asynchronous : {false, true}) {
    const std::vector<std::int32_t> lengths = draft_lists(ModelRunner::v2, asynchronous);
    EXPECT_THAT(lengths, Each(3));
    EXPECT_THAT(lengths, Not(::testing::IsEmpty()));
  }
}

TEST(EngineRuns, OneRequestRunsFromPromptToItsLastToken) {
  CheckedEngine run(SmallEngine{});
  run.add(request_of(20, 5, 1));
  EXPECT_TRUE(run.finish());
  EXPECT_EQ(run.num_steps(), 6);
  EXPECT_TRUE(run.findings().empty());
}

TEST(EngineRuns, EqualSettingsGiveEqualTraces) {
  const SmallEngine small{.num_speculative_tokens = 2, .num_blocks = 30};
  Engine a = Engine::create(engine_config(small)).value();
  Engine b = Engine::create(engine_config(small)).value();
  add_three_requests(a);
  add_three_requests(b);
  while (a.num_unfinished() > 0) ASSERT_EQ(digest(a.step()), digest(b.step()));
  EXPECT_EQ(b.num_unfinished(), 0);
}

TEST(EngineRuns, TheSeedDecidesWhatIsGenerated) {
  EngineConfig config = engine_config({});
  const auto seed_0 = computed_tokens(config);
  config.seed = 1;
  const auto seed_1 = computed_tokens(config);
  EXPECT_EQ(seed_0.at(0).at(19), seed_1.at(0).at(19));
  EXPECT_NE(seed_0.at(0).at(20), seed_1.at(0).at(20));
}

TEST(EngineRuns, EveryModeAndBudgetComputesTheSameTokens) {
  const SmallEngine reference{.mode = MambaCacheMode::none, .num_blocks = 200};
  const auto expected = computed_tokens(engine_config(reference));
  EXPECT_EQ(expected.at(0).size(), 31U);
  EXPECT_EQ(expected.at(1).size(), 28U);
  EXPECT_EQ(expected.at(2).size(), 34U);
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
    for (const std::int32_t spec : {0, 2})
      for (const std::int32_t budget : {8, 11, 64})
        for (const std::int32_t num_blocks : {30, 200})
          EXPECT_TRUE(computed_tokens(engine_config({.mode = mode,
                                                     .num_speculative_tokens = spec,
                                                     .num_blocks = num_blocks,
                                                     .max_num_batched_tokens = budget})) ==
                      expected)
              << "mode " << static_cast<int>(mode) << " K " << spec << " budget " << budget
              << " blocks " << num_blocks;
}

TEST(EngineRuns, AStepLastsABaseAndATimePerToken) {
  Engine engine = Engine::create(engine_config({})).value();
  EXPECT_EQ(engine.now_us(), 0);
  engine.add_request(request_of(16, 5, 1)).value();
  EXPECT_EQ(engine.step().duration_us, 20'000 + 30 * 16);
  EXPECT_EQ(engine.now_us(), 20'480);
  EXPECT_EQ(engine.step().time_us, 20'480);
  EXPECT_EQ(engine.now_us(), 20'480 + 20'030);
}

TEST(EngineRuns, TimeJumpsForwardOnly) {
  Engine engine = Engine::create(engine_config({})).value();
  engine.advance_to(5'000'000);
  engine.advance_to(1'000);
  EXPECT_EQ(engine.now_us(), 5'000'000);
  engine.add_request(request_of(4, 1, 1)).value();
  EXPECT_EQ(engine.step().time_us, 5'000'000);
  EXPECT_EQ(engine.num_unfinished(), 0);
}

TEST(EngineRuns, AnIdleStepHasNoRowsAndCostsTheBase) {
  Engine engine = Engine::create(engine_config({})).value();
  const StepTrace& trace = engine.step();
  EXPECT_EQ(trace.step, 1);
  EXPECT_TRUE(trace.rows.empty());
  EXPECT_EQ(trace.duration_us, 20'000);
}

// Ties in arrival would preempt the first of the tied requests, which comes back behind the other
// and preempts it in turn.
TEST(EngineRuns, EquallyImportantRequestsOfOneStepDoNotPreemptEachOtherForEver) {
  EngineConfig config =
      engine_config({.mode = MambaCacheMode::none, .block_size = 1, .num_blocks = 37});
  config.scheduling_policy = SchedulingPolicy::priority;
  config.long_prefill_token_threshold = 1;
  config.scheduler_reserve_full_isl = false;
  CheckedEngine run(config);
  for (const std::uint64_t text : {1U, 2U, 3U}) run.add(request_of(30, 5, text));
  EXPECT_TRUE(run.finish(300));
  EXPECT_TRUE(run.findings().empty());
}

TEST(EngineRuns, APaddedPromptThatAThresholdCutsHasADraftLessThanTokens) {
  EngineConfig config = engine_config({.mode = MambaCacheMode::none,
                                       .num_speculative_tokens = 3,
                                       .policies = reference_policies()});
  config.long_prefill_token_threshold = 2;
  Engine engine = Engine::create(config).value();
  engine.add_request(request_of(2, 20, 1)).value();
  engine.step();
  engine.add_request(request_of(1, 20, 2)).value();
  const StepTrace& trace = engine.step();
  ASSERT_EQ(trace.scheduled.size(), 2U);
  EXPECT_EQ(trace.scheduled[1].num_scheduled_tokens, 2);
  EXPECT_EQ(trace.scheduled[1].num_draft_tokens, 1);
}

TEST(EngineRuns, ARequestStopsAtMaxModelLen) {
  CheckedEngine run(SmallEngine{.mode = MambaCacheMode::none, .max_model_len = 12});
  run.add(request_of(9, 50, 1));
  EXPECT_EQ(run.step().committed.front().num_tokens, 10);
  EXPECT_EQ(run.step().committed.front().num_tokens, 11);
  const StepTrace& last = run.step();
  EXPECT_EQ(last.committed.front().num_tokens, 12);
  EXPECT_TRUE(last.committed.front().finished);
}

// Profile `reference` corrupts state as the reference does, but an engine under it breaks no
// contract of its own: whatever is scheduled can be prepared, sampled and taken back.

class ReferenceProfile : public testing::TestWithParam<MambaCacheMode> {};

TEST_P(ReferenceProfile, RunsRandomScenariosWithoutABrokenContract) {
  constexpr std::uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  const auto in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::int64_t num_findings = 0;
  for (int i = 0; i < 1500; ++i) {
    const ScenarioShape shape = draw_shape(GetParam(), in);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " scenario " << i << " " << shape);
    EngineScenario scenario = make_scenario(shape);
    const PolicySet before = scenario.config.policies;
    scenario.config.policies = reference_policies();
    if (i % 3 == 1) scenario.config.policies.set(RowClassing::by_meaning);
    if (i % 2 == 0) keep_caching_policies(scenario.config.policies, before);
    CheckedEngine run(scenario.config, CheckScope::step);
    std::size_t next = 0;
    for (int step = 0; step < 150; ++step) {
      for (; next < scenario.commands.size() && scenario.commands[next].step <= step; ++next) {
        const Command& command = scenario.commands[next].command;
        const auto* preempt = std::get_if<PreemptRequest>(&command);
        const auto* abort = std::get_if<AbortRequest>(&command);
        const RequestId named = preempt != nullptr ? preempt->request
                                : abort != nullptr ? abort->request
                                                   : RequestId{-1};
        if (named.value < run.engine().num_requests()) run.engine().apply(command).value();
      }
      ASSERT_NO_THROW(run.step());
    }
    num_findings += std::ssize(run.findings());
  }
  EXPECT_GT(num_findings, 0);
}

// In a step without drafts V1's builders get no counts, and without counts more than one token is a
// prefill (semantics: draft-and-accepted-counts, mamba-builder).
TEST(ReferenceProfileSplit, TheTailOfAPromptIsAPrefillInAStepWithoutDrafts) {
  CheckedEngine run({.mode = MambaCacheMode::none,
                     .num_speculative_tokens = 2,
                     .policies = reference_policies()});
  run.add(request_of(10, 3, 1));
  run.engine().apply(SetStepBudget{8}).value();
  run.step();
  const StepTrace& tail = run.step();
  ASSERT_EQ(tail.scheduled.front().num_scheduled_tokens, 2);
  EXPECT_EQ(std::get<Mamba2Metadata>(*tail.groups[1].metadata).base.num_prefills, 1);
  EXPECT_TRUE(run.findings().empty());
}

INSTANTIATE_TEST_SUITE_P(Modes, ReferenceProfile,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all));

// Random scenarios: no finding, no contract violation, and in modes none and align agreement with
// the slow oracle in every step.

// What all scenarios together did.
struct Seen {
  std::int64_t copies = 0, hits = 0, preempted = 0;
};

Seen check_scenarios(MambaCacheMode mode, int count) {
  Seen seen;
  check_property(count, [&] {
    const ScenarioShape shape = draw_shape(mode, draw);
    ScenarioRun run(make_scenario(shape));
    const std::string difference = run.run();
    seen.copies += run.num_copies();
    seen.hits += run.num_hits();
    seen.preempted += run.num_preempted();
    std::ostringstream out;
    out << shape << ": " << difference;
    if (!difference.empty()) RC_FAIL(out.str());
  });
  EXPECT_GT(seen.preempted, 0);
  return seen;
}

TEST(OracleAgreement, ModeAlignDecidesAndHoldsWhatTheOracleDoes) {
  const Seen seen = check_scenarios(MambaCacheMode::align, 1000);
  EXPECT_GT(seen.copies, 0);
  EXPECT_GT(seen.hits, 0);
}

TEST(OracleAgreement, ModeNoneDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::none, 400);
}

TEST(OracleAgreement, ModeAllHasNoFinding) {
  EXPECT_GT(check_scenarios(MambaCacheMode::all, 700).hits, 0);
}

}  // namespace

}  // namespace hybridscope::test::engine_runs_test
