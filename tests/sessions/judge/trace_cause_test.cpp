// The known bug behind the findings of a trace, found from the trace alone.
#include "sessions/judge/trace_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sessions/judge/trace_writer.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"

namespace hybridscope::trace_cause_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Traced {
  KeptTrace trace;
  FindingRoots chains;
};

// The scenario's run as the trace of an engine with this name.
Traced trace_of(const Scenario& scenario, const std::string& engine_name) {
  CheckedRun run = CheckedRun::create(plan_scenario(scenario, "s.json").value()).value();
  TraceWriter writer(run.engine().config(), traced_requests_of(run.engine()));
  auto header = nlohmann::json::parse(writer.header(scenario.name));
  header["engine"] = engine_name;
  Traced traced;
  traced.trace.begin(header.dump());
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    traced.trace.add(writer.step(step.trace));
    for (const Finding& finding : step.findings)
      if (rule_info(finding.rule).severity == Severity::error) traced.chains.add(finding);
  }
  return traced;
}

std::vector<std::string> causes(const Traced& traced) {
  std::vector<std::string> ids;
  const auto found = TraceCauses().find(traced.trace, std::span(traced.chains.roots()).first(1));
  for (const KnownBug* bug : found[0]) ids.emplace_back(bug->id);
  return ids;
}

std::vector<std::string> causes_of_faulty(const std::string& id) {
  return causes(trace_of(faulty_scenario(shipped_bug(id).value()), "another engine"));
}

TEST(TraceCause, IsTheBugWithWhichOurEngineDecidesTheSame) {
  EXPECT_THAT(causes_of_faulty("skipped-step-forgets-accepted-count"),
              ElementsAre("skipped-step-forgets-accepted-count"));
  EXPECT_THAT(causes_of_faulty("mid-block-chunk-poisons-slot"),
              ElementsAre("mid-block-chunk-poisons-slot"));
  EXPECT_THAT(causes_of_faulty("optimistic-length-picks-column"),
              ElementsAre("optimistic-length-picks-column"));
  EXPECT_THAT(causes_of_faulty("same-step-prefix-hit"), ElementsAre("same-step-prefix-hit"));
}

TEST(TraceCause, BugsOfTheSamePoliciesAreAllNamed) {
  EXPECT_THAT(causes_of_faulty("padded-prompt-tail-folds-placeholders"),
              ElementsAre("padded-prompt-tail-folds-placeholders",
                          "padded-one-token-prompt-folds-placeholders"));
}

TEST(TraceCause, AFaultOfKernelsIsInNoDecision) {
  EXPECT_THAT(causes_of_faulty("conv-rolling-window-varlen"), IsEmpty());
}

TEST(TraceCause, ATraceThatDecidesAsProfileSafeHasNone) {
  Traced healthy = trace_of(
      healthy_scenario(shipped_bug("skipped-step-forgets-accepted-count").value()), "another");
  Finding finding;
  finding.step = 4;
  healthy.chains.add(finding);
  EXPECT_THAT(causes(healthy), IsEmpty());
}

// Several bugs of the release act at once: no single one decides as it does, so it is the release
// without one of them that is compared.
TEST(TraceCause, OfAReleaseIsTheBugWithoutWhichItDecidesOtherwise) {
  Scenario scenario = healthy_scenario(shipped_bug("skipped-step-forgets-accepted-count").value());
  scenario.settings.engine = parse_engine_profile("vllm-0.24.0").value();
  const Traced traced = trace_of(scenario, "vllm 0.24.0");
  ASSERT_EQ(traced.chains.roots().size(), 1U);
  EXPECT_THAT(causes(traced), ElementsAre("skipped-step-forgets-accepted-count"));
}

TEST(TraceCause, ItSaysWhyItIsNotLookedFor) {
  const Traced faulty = trace_of(
      faulty_scenario(shipped_bug("skipped-step-forgets-accepted-count").value()), "another");
  TraceCauses searched;
  searched.find(faulty.trace, faulty.chains.roots());
  EXPECT_EQ(searched.why_not_searched(), "");

  Traced long_one = faulty;
  long_one.trace.add(std::string(KeptTrace::kMostBytes, ' '));
  TraceCauses causes;
  causes.find(long_one.trace, faulty.chains.roots());
  EXPECT_EQ(causes.why_not_searched(), "the trace has more than 32 MiB");
  causes.find(faulty.trace, {});
  EXPECT_EQ(causes.why_not_searched(), "");
}

TEST(TraceCause, NoLineIsKeptOfALongTrace) {
  KeptTrace trace;
  trace.begin("{}");
  trace.add(std::string(KeptTrace::kMostBytes, ' '));
  trace.add("{}");
  EXPECT_THAT(trace.lines(), IsEmpty());
  trace.begin("{}");
  EXPECT_EQ(trace.lines().size(), 1U);
}

}  // namespace
}  // namespace hybridscope::trace_cause_test
