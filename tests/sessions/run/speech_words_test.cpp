// One step of a language model in words.
#include "sessions/run/spoken_words.h"

#include <gtest/gtest.h>

namespace hybridscope::speech_words_test {
namespace {

constexpr RequestId kA{0};
const SpeechInfo kInfo{.weights = "tiny", .vocab_size = 256, .layers = {}};

StepSpeech step() {
  return {.step = 3,
          .words = {.tokens = {{kA, {.step = 3, .id = 'k', .twin_id = 'k'}},
                               {kA, {.step = 3, .id = '?', .twin_id = '='}}},
                    .rejected = {{kA, {3, 4, 'x'}}}},
          .compared = {{kA, 1, 4, StateKind::temporal, true}}};
}

TEST(SpeechWords, SayWhatEachRequestSaysAndRejects) {
  EXPECT_EQ(explain_speech(step(), kInfo, numbered_names()),
            "\nLanguage model tiny, form recurrent\n"
            "  r0 says \"k?\", a lone run there \"k=\"; rejected drafts \"x\"\n"
            "  1 state compared with lone runs: all equal in every bit\n");
  EXPECT_EQ(explain_speech({}, kInfo, numbered_names()), "");
}

TEST(SpeechWords, NameTheStatesThatDiffer) {
  StepSpeech wrong = step();
  wrong.words = {};
  for (int i = 0; i < 13; ++i)
    wrong.states.push_back({.request = kA,
                            .layer = i,
                            .is_read = true,
                            .block = 4,
                            .num_tokens = 23,
                            .num_elements = 4096,
                            .largest = 0.0661});
  const std::string words = explain_speech(wrong, kInfo, numbered_names());
  EXPECT_NE(words.find("block 4, layer 0: the temporal state that a row of r0 read differs from"),
            std::string::npos);
  EXPECT_NE(words.find("by at most 0.0661, in 4,096"), std::string::npos) << words;
  EXPECT_NE(words.find("... and 1 more"), std::string::npos);
}

}  // namespace
}  // namespace hybridscope::speech_words_test
