#include "sessions/report/report_steps.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::report_texts_test {
namespace {

using nlohmann::json;

TEST(ReportTexts, SentencesThatDifferInNumbersShareOneTemplate) {
  ReportTexts texts;
  EXPECT_EQ(texts.add("c + q = 6 + 2 = 8"), json({0, 6, 2, 8}));
  EXPECT_EQ(texts.add("c + q = 7 + 10 = 17"), json({0, 7, 10, 17}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["c + q = ", " + ", " = ", ""]])"));
}

TEST(ReportTexts, DigitsThatPrintingWouldChangeStayText) {
  ReportTexts texts;
  EXPECT_EQ(texts.add("0.05 r007 1234567890123456789"), json({0, 0}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["", ".05 r007 1234567890123456789"]])"));
}

TEST(ReportTexts, AnEmptySentenceIsATemplateToo) {
  ReportTexts texts;
  EXPECT_EQ(texts.add(""), json::array({0}));
  EXPECT_EQ(texts.templates(), json::parse(R"([[""]])"));
}

TEST(ReportTexts, ForgettingTemplatesGivesTheirNumbersOutAgain) {
  ReportTexts texts;
  texts.add("one");
  texts.add("two");
  texts.truncate(1);
  EXPECT_EQ(texts.add("three"), json::array({1}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["one"], ["three"]])"));
}

}  // namespace
}  // namespace hybridscope::report_texts_test
