#include "gui/model/shown_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"

namespace hybridscope::shown_run_test {
namespace {

ShownFinding finding_of(RequestId request, const std::string& text) {
  ShownFinding shown{.finding = {}, .text = text};
  shown.finding.rule = Rule::label_mismatch;
  shown.finding.step = 5;
  shown.finding.request = request;
  return shown;
}

TEST(FindingMessage, LeavesOutWhatStandsInColumnsOfItsOwn) {
  const Names names = numbered_names();
  EXPECT_EQ(finding_message(finding_of({2}, "label-mismatch: step 5 r2: S(8) expected"), names),
            "S(8) expected");
  EXPECT_EQ(
      finding_message(finding_of({2}, "label-mismatch: step 5 r2 group 1 column 0: S(8) expected"),
                      names),
      "group 1 column 0: S(8) expected");
  EXPECT_EQ(finding_message(finding_of({}, "label-mismatch: step 5: no progress"), names),
            "no progress");
}

TEST(FindingMessage, LeavesOtherWordsAsTheyAre) {
  EXPECT_EQ(finding_message(finding_of({2}, "kept from another version"), numbered_names()),
            "kept from another version");
}

TEST(StepInWords, ARowOfATableStaysTogetherInANarrowPanel) {
  const auto run = hybridscope::test::scenario_at("async_worked_example", 3);
  EXPECT_THAT(step_in_words(*run, 50),
              testing::HasSubstr("\n  request A; how running; c 10; q 3; d 2; known 8;\n"));
}

}  // namespace
}  // namespace hybridscope::shown_run_test
