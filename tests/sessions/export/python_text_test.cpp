#include "sessions/export/python_text.h"

#include <gtest/gtest.h>

namespace hybridscope::python_text_test {
namespace {

TEST(PythonText, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(python_string("A"), R"("A")");
  EXPECT_EQ(python_string("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(python_string("\x01"), R"("\u0001")");
  EXPECT_EQ(python_string("ü"), "\"ü\"");
}

TEST(PythonText, WhatIsNoUtf8IsReplaced) { EXPECT_EQ(python_string("\xFF"), "\"\xEF\xBF\xBD\""); }

TEST(PythonText, ACommentStaysOnItsLine) {
  EXPECT_EQ(python_comment("two\nlines"), R"(two\nlines)");
}

}  // namespace
}  // namespace hybridscope::python_text_test
