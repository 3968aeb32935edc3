#include "sessions/run/finding_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::finding_baseline_test {
namespace {

Finding found(std::string_view detail, std::int64_t step) {
  Finding finding;
  finding.rule = Rule::rejected_draft_counted;
  finding.detail = detail;
  finding.step = step;
  finding.request = RequestId{0};
  return finding;
}

TEST(FindingBaseline, VariantsOfARuleAreToldApart) {
  FindingBaseline known;
  known.add("a", found("computed tokens after the step", 7), numbered_names());
  EXPECT_TRUE(known.has("a", found("computed tokens after the step", 7), numbered_names()));
  EXPECT_FALSE(known.has("a", found("appended tokens of a valid frame", 7), numbered_names()));
  EXPECT_FALSE(known.has("a", found("computed tokens after the step", 8), numbered_names()));
}

TEST(FindingBaseline, ALineHasTheVariantBehindTheRule) {
  FindingBaseline known;
  known.add("a", found("computed tokens after the step", 7), numbered_names());
  known.add("a", found("computed tokens after the step", 8), numbered_names());
  known.add("a", found("", 9), numbered_names());
  EXPECT_EQ(known.num_steps(), 3);
  EXPECT_EQ(known.text(), R"({
  "version": 1,
  "findings": [
    {"run":"a","rule":"rejected-draft-counted","request":"r0","steps":[9]},
    {"run":"a","rule":"rejected-draft-counted","detail":"computed tokens after the step","request":"r0","steps":[[7,8]]}
  ]
}
)");
}

}  // namespace
}  // namespace hybridscope::finding_baseline_test
