#include "sessions/traffic/burstgpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::burstgpt_test {
namespace {

using test::input_of;
using test::words_of;
using testing::ElementsAre;

constexpr const char* kHeader =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
constexpr const char* kSessionHeader =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
    "Type\n";

Result<TrafficLog> read(const std::string& text) { return read_burstgpt(input_of(text, "b.csv")); }

// The first lines of BurstGPT_1.csv, with an empty request of its.
TEST(BurstGpt, ALineIsARequestOfItsOwnAndTimesCountFromTheFirst) {
  const auto log = read(std::string(kHeader) +
                        "5,ChatGPT,472,18,490,Conversation log\n"
                        "45,ChatGPT,1087,230,1317,Conversation log\n"
                        "1106,ChatGPT,0,0,0,Conversation log\r\n"
                        "118.5,GPT-4,417,0,693,API log\n");
  EXPECT_THAT(words_of(log), ElementsAre("r2 @0 in 0: 472 -> 18", "r3 @40000000 in 1: 1087 -> 230",
                                         "r5 @113500000 in 2: 417 -> 1"));
  EXPECT_EQ(log.value().num_without_output, 1);
  EXPECT_THAT(log.value().notes,
              ElementsAre("1 line without request tokens left out",
                          "the file has no sessions, so no prompt shares anything"));
}

TEST(BurstGpt, ATurnOfASessionBeginsWithTheHistoryIfItHasRoomForIt) {
  const auto log = read(std::string(kSessionHeader) +
                        "19440110.0,s1,2.5,GPT-4,100,20,120,Conversation log\n"
                        "19440111.0,,1,GPT-4,50,5,55,API log\n"
                        "19440120.0,s1,3,GPT-4,150,30,180,Conversation log\n"
                        "19440130.0,s1,3,GPT-4,179,10,189,Conversation log\n"
                        "19440140.0,s1,3,GPT-4,189,10,199,Conversation log\n");
  EXPECT_THAT(words_of(log),
              ElementsAre("r2 @0 in 0: 100 -> 20", "r3 @1000000 in 1: 50 -> 5",
                          "r4 @10000000 in 0: 100 r2[100+20] 30 -> 30 after r2 +7500000",
                          "r5 @20000000 in 0: 179 -> 10 after r4 +7000000",
                          "r6 @30000000 in 0: 179 r5[179+10] -> 10 after r5 +7000000"));
  EXPECT_THAT(log.value().notes, ElementsAre());
}

TEST(BurstGpt, LinesOutOfOrderAreCounted) {
  EXPECT_EQ(read(std::string(kHeader) + "5,m,1,1,2,x\n4,m,1,1,2,x\n9,m,1,1,2,x\n")
                .value()
                .num_out_of_order,
            1);
}

TEST(BurstGpt, ErrorsNameTheLineAndTheColumn) {
  const auto error = [](const std::string& text) { return read(text).error().message; };
  EXPECT_EQ(error("a,b\n1,2\n"),
            "b.csv:1: found \"a,b\" (expected a header with Timestamp, Request tokens and Response "
            "tokens)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1,1\n"),
            "b.csv:2: found 4 fields (expected 6, as the header has)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1,1,2,x\n-5,m,1,1,2,x\n"),
            "b.csv:3: Timestamp: found \"-5\" (expected seconds from 0 to 4503599627)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1.5,1,2,x\n"),
            "b.csv:2: Request tokens: found \"1.5\" (expected an integer from 0 to 16777216)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,7,,2,x\n"),
            "b.csv:2: Response tokens: found \"\" (expected an integer from 0 to 16777216)");
  EXPECT_EQ(error(kHeader), "b.csv:1: no request (expected one behind the header)");
}

}  // namespace
}  // namespace hybridscope::burstgpt_test
