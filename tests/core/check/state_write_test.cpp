#include "core/check/state_write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/check/step_checker.h"
#include "sessions/run/step_judge.h"
#include "tests/support/small_engine.h"

namespace hybridscope::state_write_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string describe(const StateWrite& write) {
  static constexpr const char* kKinds[] = {"never",    "prefill",   "decode",
                                           "pre_copy", "post_copy", "attention"};
  static constexpr const char* kContents[] = {"none", "temporal", "conv", "attention"};
  return std::string(kKinds[static_cast<int>(write.event.kind)]) + " " +
         kContents[static_cast<int>(write.content)] + " group " + std::to_string(write.group) +
         " column " + std::to_string(write.column) + " block " + std::to_string(write.block) +
         " holds " + std::to_string(write.event.num_tokens);
}

class WriteLog : public ::testing::Test {
 protected:
  WriteLog() {
    checker_.log_writes();
    (void)engine_.add_request(test::request_of(6, 4, 1)).value();
  }
  std::vector<std::string> step() {
    (void)checker_.check(engine_.step());
    std::vector<std::string> lines;
    for (const StateWrite& write : checker_.writes()) lines.push_back(describe(write));
    return lines;
  }
  // Blocks of 8 tokens, no drafts, mode align.
  EngineConfig config_ = test::engine_config({});
  Engine engine_ = Engine::create(config_).value();
  StepChecker checker_ = StepChecker::create(make_check_config(config_)).value();
};

TEST_F(WriteLog, TellsEachWriteOfAStepInOrder) {
  EXPECT_THAT(step(), ElementsAre("attention attention group 0 column 0 block 1 holds 6",
                                  "prefill temporal group 1 column 0 block 2 holds 6",
                                  "prefill conv group 1 column 0 block 2 holds 6"));
  EXPECT_THAT(step(), ElementsAre("attention attention group 0 column 0 block 1 holds 7",
                                  "decode temporal group 1 column 0 block 2 holds 7",
                                  "decode conv group 1 column 0 block 2 holds 7"));
}

// Token 9 begins the second block: its state starts as a copy of the first block's.
TEST_F(WriteLog, TellsCopiesByTheirDestination) {
  for (int i = 0; i < 3; ++i) step();
  const std::vector<std::string> writes = step();
  ASSERT_GE(writes.size(), 2u);
  EXPECT_EQ(writes[0], "pre_copy temporal group 1 column 1 block 4 holds 8");
  EXPECT_EQ(writes[1], "pre_copy conv group 1 column 1 block 4 holds 8");
}

TEST_F(WriteLog, HoldsTheFingerprintOfWhatWasWritten) {
  step();
  const StateWrite temporal = checker_.writes()[1];
  EXPECT_EQ(temporal.fingerprint, checker_.state().state.temporal(2).fingerprint);
  EXPECT_EQ(temporal.event, checker_.state().state.temporal(2).event);
  EXPECT_EQ(checker_.writes()[2].fingerprint, temporal.fingerprint);  // token 6 ends both
}

TEST(WriteLogOff, KeepsNothingUnlessAskedFor) {
  const EngineConfig config = test::engine_config({});
  Engine engine = Engine::create(config).value();
  StepChecker checker = StepChecker::create(make_check_config(config)).value();
  (void)engine.add_request(test::request_of(6, 4, 1)).value();
  (void)checker.check(engine.step());
  EXPECT_THAT(checker.writes(), IsEmpty());
}

}  // namespace
}  // namespace hybridscope::state_write_test
