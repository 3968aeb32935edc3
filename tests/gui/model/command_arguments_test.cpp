#include "gui/model/command_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::command_arguments_test {
namespace {

using testing::ElementsAre;

TEST(CommandArguments, WordsStandBetweenSpacesOrInQuotes) {
  EXPECT_THAT(words_of("A 1  0").value(), ElementsAre("A", "1", "0"));
  EXPECT_THAT(words_of(R"("my request" 1)").value(), ElementsAre("my request", "1"));
  EXPECT_THAT(words_of(R"("" 1)").value(), ElementsAre("", "1"));
  EXPECT_EQ(words_of(R"("never closed)").error().message,
            R"(a quote is not closed in: "never closed)");
  EXPECT_THAT(words_of("  ").value(), ElementsAre());
}

TEST(CommandArguments, AQuoteInQuotesStandsTwice) {
  EXPECT_THAT(words_of(R"("say ""no"" twice" 2)").value(), ElementsAre(R"(say "no" twice)", "2"));
  EXPECT_EQ(quoted_word(R"(say "no")"), R"("say ""no""")");
}

TEST(CommandArguments, EveryNameComesBackFromItsQuotedWord) {
  for (const char* name : {"A", "a b", "", R"(")", R"("")", R"(a"b)", R"("a b")", R"( " )"})
    EXPECT_THAT(words_of(quoted_word(name) + " 7").value(), ElementsAre(name, "7")) << name;
}

}  // namespace
}  // namespace hybridscope::command_arguments_test
