#include "cli/publish_tests.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "tests/cli/program.h"

namespace hybridscope::step_summary_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TestedUnit clean(const std::string& name) {
  return {.name = name, .result = "ok", .steps = 8, .seconds = 0.5};
}

TestedUnit dirty(const std::string& name) {
  return {.name = name,
          .result = "findings",
          .steps = 3,
          .findings = 1,
          .problems = {{.type = "label-mismatch", .text = "step 2: block 17"}}};
}

TEST(StepSummary, IsATableWithProblemsFirst) {
  EXPECT_EQ(step_summary_text("hybridscope run", std::vector{clean("a"), dirty("b")}, 1 << 20),
            "### hybridscope run: 1 of 2 without a problem\n\n"
            "| result | name | steps | findings | seconds | first problem |\n"
            "|---|---|---:|---:|---:|---|\n"
            "| findings | b | 3 | 1 |  | step 2: block 17 |\n"
            "| ok | a | 8 | 0 | 0.50 |  |\n\n");
}

TEST(StepSummary, CellsHoldNoMarkupOfTheirOwn) {
  const std::string text =
      step_summary_text("t", std::vector{clean("a|b\n<script> [x](y) `c`")}, 1 << 20);
  EXPECT_THAT(text, HasSubstr("| a\\|b\\\\x0A&lt;script> \\[x\\](y) \\`c\\` |"));
}

TEST(StepSummary, IsCutAtTheLimitAndSaysHowManyRowsAreMissing) {
  std::vector<TestedUnit> units;
  for (int i = 0; i < 100; ++i) units.push_back(clean("scenario " + std::to_string(i)));
  units.push_back(dirty("the only one"));
  const std::string text = step_summary_text("t", units, 1000);
  EXPECT_LE(text.size(), 1000u);
  EXPECT_THAT(text, HasSubstr("the only one"));
  EXPECT_THAT(text, testing::ContainsRegex("\n[0-9]+ of 101 rows are cut"));
  EXPECT_EQ(step_summary_text("t", units, 100), "");
}

TEST(StepSummary, IsAppendedAndWhatIsThereCountsForTheLimit) {
  const std::string path = test::temporary_file("summary.md", "before\n");
  ASSERT_TRUE(append_step_summary(path, "t", std::vector{clean("a")}).ok());
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(text, testing::StartsWith("before\n### t: 1 of 1"));

  const std::string full = test::temporary_file("full.md", std::string(kMaxStepSummaryBytes, 'x'));
  ASSERT_TRUE(append_step_summary(full, "t", std::vector{clean("a")}).ok());
  std::ifstream again(full, std::ios::ate);
  EXPECT_EQ(static_cast<std::size_t>(again.tellg()), kMaxStepSummaryBytes);
  EXPECT_FALSE(append_step_summary("/no/such/folder/s.md", "t", std::vector{clean("a")}).ok());
}

}  // namespace
}  // namespace hybridscope::step_summary_test
