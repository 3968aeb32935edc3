#include "sessions/run/finding_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::finding_list_test {
namespace {

using testing::HasSubstr;

constexpr RequestId kA{0};
constexpr RequestId kC{2};

Finding wrong(Rule rule, std::int64_t step, RequestId request) {
  Finding finding;
  finding.rule = rule;
  finding.step = step;
  finding.request = request;
  return finding;
}

FindingList list_of(const std::vector<Finding>& findings) {
  FindingList list;
  for (const Finding& finding : findings) {
    StepTrace trace;
    trace.step = finding.step;
    list.add(trace, {&finding, 1}, {}, numbered_names());
  }
  return list;
}

TEST(FindingList, SaysHowFarTheDamageOfEachRequestWent) {
  const FindingList list =
      list_of({wrong(Rule::running_state_wrong, 4, kC), wrong(Rule::label_mismatch, 6, kA),
               wrong(Rule::running_state_wrong, 9, kC)});
  EXPECT_EQ(list.format_by_request(),
            "  r2: 2 findings, steps 4 to 9, first running-state-wrong\n"
            "  r0: 1 finding, step 6, first label-mismatch\n");
  EXPECT_EQ(list.by_request_json()[0],
            nlohmann::ordered_json({{"request", "r2"},
                                    {"findings", 2},
                                    {"first_step", 4},
                                    {"last_step", 9},
                                    {"first_rule", "running-state-wrong"}}));
}

TEST(FindingList, CountsTheDamageBeyondTheFindingsThatAreKept) {
  const FindingList list =
      list_of(std::vector<Finding>(25, wrong(Rule::running_state_wrong, 4, kC)));
  EXPECT_EQ(list.kept().size(), 20U);
  EXPECT_EQ(list.by_request().front().found, 25);
}

TEST(FindingList, FindingsAboutNoRequestAreToldAsSuchAndWarningsNotAtAll) {
  const FindingList list =
      list_of({wrong(Rule::label_mismatch, 1, {}), wrong(Rule::label_mismatch, 2, {}),
               wrong(Rule::chunk_off_grid, 3, kA)});
  EXPECT_EQ(list.format_by_request(),
            "  no request: 2 findings, steps 1 to 2, first label-mismatch\n");
}

TEST(FindingList, AFewRequestsAreListedAndTheRestIsCounted) {
  std::vector<Finding> findings;
  for (std::int32_t id = 0; id < 23; ++id)
    findings.push_back(wrong(Rule::running_state_wrong, 1, RequestId{id}));
  EXPECT_TRUE(list_of(findings).format_by_request().ends_with("\n  3 requests more\n"));
}

// 25 findings of one request behind the first; 19 of them are kept.
TEST(FindingList, AListThatHasNotAllOfAChainSaysSo) {
  const FindingList list =
      list_of(std::vector<Finding>(26, wrong(Rule::running_state_wrong, 4, kC)));
  EXPECT_THAT(list.format_roots(),
              HasSubstr("\n  25 findings follow from it, to step 4; 19 of 25 shown:\n"));
}

// The first finding of a chain has a line of its own.
TEST(FindingList, FindingsThatDifferOnlyInTheirGroupAreOneLine) {
  std::vector<Finding> findings(4, wrong(Rule::running_state_wrong, 4, kC));
  for (std::int32_t i = 0; i < 4; ++i) {
    findings[static_cast<std::size_t>(i)].group = i;
    findings[static_cast<std::size_t>(i)].block = 10 + i;
    findings[static_cast<std::size_t>(i)].content = ContentKind::temporal;
  }
  const FindingList list = list_of(findings);
  EXPECT_THAT(list.format_roots(), HasSubstr("\n  3 findings follow from it, to step 4:\n"
                                             "    running-state-wrong: step 4 r2 groups 1 to 3: "));
  EXPECT_NE(list.kept()[1].line, "");
  EXPECT_EQ(list.kept()[2].line, "");
  EXPECT_EQ(list.kept()[3].line, "");
  EXPECT_EQ(list.kept()[3].json->at("group"), 3);
}

// Readers leave out the lines of expected findings: what is not expected has to be in another one.
TEST(FindingList, WhatIsExpectedHasLinesOfItsOwn) {
  std::vector<Finding> findings(4, wrong(Rule::running_state_wrong, 4, kC));
  for (std::int32_t i = 0; i < 4; ++i) {
    findings[static_cast<std::size_t>(i)].group = i;
    findings[static_cast<std::size_t>(i)].block = 10 + i;
    findings[static_cast<std::size_t>(i)].content = ContentKind::temporal;
  }
  StepTrace trace;
  trace.step = 4;
  FindingList list;
  list.add(
      trace, findings, [](const Finding& finding) { return finding.group == 1; }, numbered_names());
  ASSERT_EQ(list.kept().size(), 4U);
  EXPECT_TRUE(list.kept()[1].expected);
  EXPECT_THAT(list.kept()[1].line, HasSubstr("step 4 r2 group 1"));
  EXPECT_FALSE(list.kept()[2].expected);
  EXPECT_THAT(list.kept()[2].line, HasSubstr("step 4 r2 groups 2 and 3"));
  EXPECT_EQ(list.kept()[3].line, "");
}

TEST(FindingList, StatesBehindAStaleArrayAreSaidToComeFromFreshOnes) {
  FindingList list = list_of({wrong(Rule::stale_persistent_array, 21, {})});
  EXPECT_THAT(list.format_left_out(),
              HasSubstr("from step 21 on states were computed from the arrays of each step"));
  list.set_runs_replays();
  EXPECT_EQ(list.format_left_out(), "");
  EXPECT_EQ(list_of({wrong(Rule::label_mismatch, 1, kA)}).fresh_arrays_note(), "");
}

TEST(FindingList, OneFindingNeedsNoSummary) {
  EXPECT_EQ(list_of({wrong(Rule::label_mismatch, 1, kA)}).format_by_request(), "");
}

}  // namespace
}  // namespace hybridscope::finding_list_test
