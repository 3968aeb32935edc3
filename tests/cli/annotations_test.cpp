#include "cli/publish_tests.h"

#include <gmock/gmock.h>

namespace hybridscope::annotations_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Problem problem(Severity severity, const std::string& text) {
  return {.severity = severity, .type = "label-mismatch", .text = text, .line = 12};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Annotations, EscapePercentAndNewlinesAndInPropertiesColonsAndCommasToo) {
  EXPECT_EQ(annotation_data("50 %\r\nof a: b, c"), "50 %25\\x0D%0Aof a: b, c");
  EXPECT_EQ(annotation_property("50 %\r\nof a: b, c"), "50 %25\\x0D%0Aof a%3A b%2C c");
  EXPECT_EQ(annotation_data("%0A"), "%250A");
}

TEST(Annotations, AreOneLineWithFileLineTitleAndTheCommandThatReproduces) {
  const TestedUnit unit{.name = "two, chats",
                        .file = "scenarios/two:chats.json",
                        .command = "hybridscope run scenarios/two:chats.json",
                        .problems = {problem(Severity::error, "label-mismatch: 100 % wrong")}};
  EXPECT_EQ(annotations_text(std::vector{unit}),
            "::error file=scenarios/two%3Achats.json,line=12,title=two%2C chats%3A label-mismatch"
            "::label-mismatch: 100 %25 wrong%0Areproduce: hybridscope run "
            "scenarios/two:chats.json\n");
}

TEST(Annotations, WithoutAFileTheyHaveATitleOnly) {
  const TestedUnit unit{.name = "n", .problems = {problem(Severity::warning, "w")}};
  EXPECT_EQ(annotations_text(std::vector{unit}), "::warning title=n%3A label-mismatch::w\n");
}

TEST(Annotations, TheFirstNineOfEachKindAreShownAndTheRestIsCounted) {
  TestedUnit first{.name = "first"};
  for (int i = 0; i < 8; ++i) first.problems.push_back(problem(Severity::error, "e"));
  first.left_out = {{.severity = Severity::error, .type = "label-mismatch", .count = 1000}};
  TestedUnit second{.name = "second"};
  for (int i = 0; i < 3; ++i) second.problems.push_back(problem(Severity::error, "e"));
  for (int i = 0; i < 10; ++i) second.problems.push_back(problem(Severity::warning, "w"));
  const std::string text = annotations_text(std::vector{first, second});
  EXPECT_EQ(count_of(text, "::error "), 9u);
  EXPECT_EQ(count_of(text, "::warning "), 9u);
  EXPECT_THAT(text, HasSubstr("::notice title=hybridscope::1002 more errors and 1 more warnings"));
}

TEST(Annotations, NineAreNotTooMany) {
  TestedUnit unit{.name = "n"};
  for (int i = 0; i < 9; ++i) unit.problems.push_back(problem(Severity::error, "e"));
  const std::string text = annotations_text(std::vector{unit});
  EXPECT_EQ(count_of(text, "::error "), 9u);
  EXPECT_THAT(text, Not(HasSubstr("::notice")));
}

TEST(Annotations, NoNameOrTextStartsALineOfItsOwn) {
  const TestedUnit unit{.name = "a\n::error::b",
                        .file = "f\n::error::c",
                        .problems = {problem(Severity::error, "d\r\n::error::e")}};
  const std::string text = annotations_text(std::vector{unit});
  EXPECT_EQ(count_of(text, "\n"), 1u);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace hybridscope::annotations_test
