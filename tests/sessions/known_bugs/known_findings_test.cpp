// What --expect-known-bugs lets pass, and which bugs that must show did not.
#include "sessions/known_bugs/finding_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::known_findings_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Known bugs 6 and 50 are one policy, and 0.30.0 has both with runner V1.
RunPlan plan_that_shows_6() {
  const Scenario scenario = parse_scenario({.text = R"({"version": 1, "model": "tiny-mamba2",
    "settings": {"engine": "vllm-0.30.0", "runner": "v1", "num_gpu_blocks_override": 32,
                 "max_model_len": 64},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 1}],
    "expect": {"known_bugs": [{"bug": "6"}]}})",
                                            .file = "scenario.json"})
                                .value();
  return plan_scenario(scenario, "scenario").value();
}

FindingCause cause_of(const std::string& bug) {
  return {.words = "known bug " + bug, .bugs = {{find_known_bug(bug).value()}}, .key = bug};
}

TEST(KnownFindings, ABugOfTheSamePolicyDoesNotStandForTheOneThatMustShow) {
  const RunPlan plan = plan_that_shows_6();
  KnownFindings known(plan);
  EXPECT_TRUE(known.explains(cause_of("50")));
  EXPECT_THAT(known.missing(true),
              ElementsAre("known bug 6, one-token-first-chunk-as-decode, which vllm-0.30.0 has, "
                          "is the cause of no finding"));
  EXPECT_TRUE(known.explains(cause_of("6")));
  EXPECT_THAT(known.missing(true), IsEmpty());
}

TEST(KnownFindings, WhereNotEveryCauseWasFoundTheBugIsMissingAmongThoseThatWere) {
  const RunPlan plan = plan_that_shows_6();
  EXPECT_THAT(KnownFindings(plan).missing(false),
              ElementsAre("known bug 6, one-token-first-chunk-as-decode, which vllm-0.30.0 has, "
                          "is the cause of no finding whose cause is known"));
}

}  // namespace
}  // namespace hybridscope::known_findings_test
