// What a language model said and held, as JSON and back.
#include "sessions/record/speech_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace hybridscope::speech_json_test {
namespace {

constexpr RequestId kA{0};
constexpr SpeechLimits kLimits{
    .num_requests = 1, .num_groups = 2, .num_blocks = 8, .num_layers = 3, .vocab_size = 50};

StepSpeech everything() {
  return {.step = 3,
          .words = {.prompts = {{kA, {5, 6}}},
                    .tokens = {{kA,
                                {.step = 3,
                                 .position = 2,
                                 .id = 7,
                                 .twin_id = 9,
                                 .was_drafted = true,
                                 .margin = 0.5F,
                                 .divergence = std::numeric_limits<double>::infinity(),
                                 .is_forced = true,
                                 .likely = {{7, 0.75F}},
                                 .twin_likely = {{9, 0.25F}}}}},
                    .rejected = {{kA, {3, 3, 4}}},
                    .taken = {{kA, 1}},
                    .alone = {{kA, {9}}}},
          .compared = {{kA, 1, 4, StateKind::conv, true}},
          .states = {{.step = 3,
                      .request = kA,
                      .row = 0,
                      .group = 1,
                      .layer = 2,
                      .kind = StateKind::conv,
                      .is_read = true,
                      .block = 4,
                      .num_tokens = 2,
                      .first_element = 1,
                      .num_elements = 6,
                      .largest = 0.125}}};
}

TEST(SpeechJson, WhatWasWrittenIsReadBackEqual) {
  const std::string text = speech_to_json(everything()).dump();
  const auto read = read_speech_text(text, 3, kLimits);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), everything());
}

TEST(SpeechJson, IsAListOfNumbersForEachThing) {
  EXPECT_EQ(speech_to_json(everything())["tokens"].dump(),
            "[[0,2,7,9,1,1,0.5,null,[[7,0.75]],[[9,0.25]]]]");
  EXPECT_EQ(speech_to_json(everything())["states"].dump(), "[[0,0,1,2,0,1,4,2,1,6,0.125]]");
  EXPECT_EQ(speech_to_json({}).dump(), "{}");
}

TEST(SpeechJson, NumbersOutOfRangeAreDamage) {
  const auto error = [](const char* text) { return read_speech_text(text, 3, kLimits).error(); };
  EXPECT_EQ(error(R"({"taken": [[1, 1]]})").message,
            "speech/taken: 1, expected a number from 0 to 0");
  EXPECT_EQ(error(R"({"alone": [[0, [50]]]})").message,
            "speech/alone: 50, expected a number from 0 to 49");
  EXPECT_EQ(error(R"({"compared": [[0, 1, 8, 0, 0]]})").message,
            "speech/compared: 8, expected a number from 0 to 7");
  EXPECT_EQ(error(R"({"states": [[0]]})").message, "speech/states: a value is missing");
  EXPECT_EQ(error(R"({"tokens": 4})").message, "speech/tokens: expected a list");
  EXPECT_EQ(error("[").message, "speech: no JSON");
}

TEST(SpeechJson, TheModelIsReadBackEqual) {
  const SpeechInfo info{.weights = "tiny",
                        .form = NumericForm::chunked,
                        .vocab_size = 50,
                        .layers = {{0, "attention", false}, {1, "GatedDeltaNet", true}}};
  EXPECT_EQ(read_speech_info_text(speech_info_text(&info)).value(), info);
  EXPECT_EQ(speech_info_text(nullptr), "");
  EXPECT_EQ(read_speech_info_text(R"({"weights": "tiny"})").error().message,
            "language model: \"form\" is missing or impossible");
}

}  // namespace
}  // namespace hybridscope::speech_json_test
