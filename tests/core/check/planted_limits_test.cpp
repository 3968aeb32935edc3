// Rules about what a step may not exceed: schedule-over-limit, graph-not-captured.
#include <gtest/gtest.h>

#include "sessions/run/step_judge.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_limits_test {
namespace {

// Three requests decode from step 2 on, with K = 1 in verify rows of two tokens; each step is one
// of uniform decodes in a graph of eight tokens and four rows.
PlantedRun three_verify_rows() {
  PlantedRun run({.num_speculative_tokens = 1, .max_num_seqs = 4});
  run.add(request_of(3, 20, 1)).add(request_of(4, 20, 2)).add(request_of(5, 20, 3)).steps(1);
  return run;
}

TEST(PlantedLimits, StepIsAsDescribed) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.num_scheduled_tokens, 6);
    EXPECT_EQ(trace.graph.reason, CudagraphDispatchReason::uniform_decode_graph);
    EXPECT_EQ(trace.graph.num_tokens_padded, 8);
    EXPECT_EQ(trace.graph.num_reqs_padded, 4);
  });
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedLimits, MoreTokensThanTheBudget) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.token_budget = 5; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::schedule_over_limit,
                                           .step = 2,
                                           .expected = 5,
                                           .seen = 6,
                                           .detail = "tokens of the step"}}));
}

// The checker gets settings that differ from the engine's.
std::vector<Finding> found_with(const CheckLimits& limits) {
  const EngineConfig config = engine_config({.num_speculative_tokens = 1, .max_num_seqs = 4});
  Engine engine = Engine::create(config).value();
  CheckConfig check = make_check_config(config);
  check.limits = limits;
  StepChecker checker = StepChecker::create(check).value();
  for (std::uint64_t text = 1; text <= 3; ++text)
    EXPECT_TRUE(engine.add_request(request_of(3, 20, text)).ok());
  std::vector<Finding> findings;
  for (int step = 0; step < 2; ++step)
    for (const Finding& finding : checker.check(engine.step()))
      if (rule_info(finding.rule).severity == Severity::error) findings.push_back(finding);
  return findings;
}

TEST(PlantedLimits, MoreRequestsThanMaxNumSeqs) {
  EXPECT_TRUE(found(found_with({.max_num_seqs = 2, .max_model_len = 256}),
                    {.rule = Rule::schedule_over_limit,
                     .step = 1,
                     .expected = 2,
                     .seen = 3,
                     .detail = "requests at once"}));
}

TEST(PlantedLimits, RequestBeyondMaxModelLen) {
  // Three tokens in step 1; in step 2 the one sampled and its draft, tokens four and five.
  EXPECT_TRUE(found_only(found_with({.max_num_seqs = 4, .max_model_len = 4}),
                         {{.rule = Rule::schedule_over_limit,
                           .step = 2,
                           .request = 0,
                           .expected = 4,
                           .seen = 5,
                           .detail = "tokens of the request"},
                          {.rule = Rule::schedule_over_limit, .request = 1},
                          {.rule = Rule::schedule_over_limit, .request = 2}}));
}

TEST(PlantedLimits, GraphThatNobodyCaptured) {
  EXPECT_TRUE(found(
      found_with({.max_num_seqs = 4, .max_model_len = 256, .cudagraph_capture_sizes = {2, 4, 16}}),
      {.rule = Rule::graph_not_captured,
       .step = 2,
       .seen = 8,
       .detail = "tokens of a graph that nobody captured"}));
  // Sizes that were not given are not checked.
  EXPECT_TRUE(nothing_found(found_with({.max_num_seqs = 4, .max_model_len = 256})));
}

TEST(PlantedLimits, GraphOfMoreRowsThanWereCaptured) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.graph.num_reqs_padded = 8; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::graph_not_captured,
                                     .step = 2,
                                     .expected = 4,
                                     .seen = 8,
                                     .detail = "rows of the graph"}));
}

TEST(PlantedLimits, GraphTooSmallForTheStep) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.graph.num_tokens_padded = 4; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::graph_not_captured,
                                     .step = 2,
                                     .expected = 6,
                                     .seen = 4,
                                     .detail = "tokens of a graph too small"}));
}

}  // namespace
}  // namespace hybridscope::test::planted_limits_test
