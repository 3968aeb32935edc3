// What is wrong with a break expression is said with its place.
#include <gtest/gtest.h>

#include "sessions/breakpoint/break_condition.h"

namespace hybridscope::test::break_errors_test {
namespace {

std::string error_of(std::string_view text) {
  const auto condition = BreakCondition::parse(text);
  return condition.ok() ? "no error" : condition.error().message;
}

TEST(BreakErrors, AFieldThatThereIsNotIsMarkedWithTheNearestOne) {
  EXPECT_EQ(error_of("copy.srccol==copy.dst_col"),
            "no field is called copy.srccol, did you mean \"src_col\"?\n"
            "  copy.srccol==copy.dst_col\n"
            "       ^~~~~~");
  EXPECT_EQ(error_of("num_free_block < 3"),
            "no field is called num_free_block, did you mean \"num_free_blocks\"?\n"
            "  num_free_block < 3\n"
            "  ^~~~~~~~~~~~~~");
}

TEST(BreakErrors, AKindThatThereIsNot) {
  EXPECT_EQ(error_of("copies.src_col == 1"),
            "there is nothing called copies, there are copy, row, commit, command, lookup, event, "
            "write, finding, lookup_group, skipped, table, state_copy, metadata\n"
            "  copies.src_col == 1\n"
            "  ^~~~~~");
}

TEST(BreakErrors, AWordThatAFieldNeverIs) {
  EXPECT_EQ(error_of("row.row_class == decoding"),
            "row_class is never decoding, it is one of decode, verify, prefill, padding\n"
            "  row.row_class == decoding\n"
            "                   ^~~~~~~~");
}

TEST(BreakErrors, AComparisonThatMakesNoSense) {
  EXPECT_EQ(error_of("row.row_class > 1"),
            "row_class can only be compared with == and !=\n"
            "  row.row_class > 1\n"
            "  ^~~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request == 3"),
            "a request cannot be compared with a number\n"
            "  row.request == 3\n"
            "  ^~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request"),
            "row.request is not a condition: compare it, as in row.request == A\n"
            "  row.request\n"
            "  ^~~~~~~~~~~");
}

TEST(BreakErrors, TheGrammar) {
  EXPECT_EQ(error_of(""), "the expression is empty\n  \n  ^");
  EXPECT_EQ(error_of("step == "),
            "expected a field or a number, found the end\n  step == \n          ^");
  EXPECT_EQ(error_of("step = 3"),
            "\"=\" is not an operator, expected \"==\"\n  step = 3\n       ^");
  EXPECT_EQ(error_of("(step == 3"), "expected \")\"\n  (step == 3\n            ^");
  EXPECT_EQ(error_of("step == 3 4"),
            "expected an operator or the end, found \"4\"\n  step == 3 4\n            ^");
  EXPECT_EQ(error_of("step == 99999999999999999999"),
            "the number does not fit 64 bits\n  step == 99999999999999999999\n"
            "          ^~~~~~~~~~~~~~~~~~~~");
  EXPECT_EQ(error_of("row.request == 'A"),
            "the quote is not closed\n  row.request == 'A\n                 ^~");
  EXPECT_EQ(error_of(std::string(200, '(')).substr(0, 17), "nested too deeply");
  EXPECT_EQ(error_of(std::string(200, '!') + "finding").substr(0, 17), "nested too deeply");
  std::string chain = "finding";
  for (int term = 1; term < 5001; ++term) chain += "||finding";  // and the end: 10002
  EXPECT_EQ(error_of(chain).substr(0, 55),
            "10002 words and operators, expected at most 10000\n  fin");
}

}  // namespace
}  // namespace hybridscope::test::break_errors_test
