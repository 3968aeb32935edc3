#include "sessions/run/finding_list.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::finding_list_test {
namespace {

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

TEST(FindingList, OneFindingNeedsNoSummary) {
  EXPECT_EQ(list_of({wrong(Rule::label_mismatch, 1, kA)}).format_by_request(), "");
}

}  // namespace
}  // namespace hybridscope::finding_list_test
