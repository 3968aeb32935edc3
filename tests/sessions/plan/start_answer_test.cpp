// Does a release start, and what would make it start.
#include "sessions/plan/start_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope::start_answer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Flag {
  const char* name;
  const char* value;
};

StartAnswer answer(const char* model, std::initializer_list<Flag> flags,
                   WantedLength length = WantedLength::of_settings) {
  EngineSettings settings;
  for (const Flag& flag : flags) {
    const Setting* setting = find_setting("", flag.name);
    if (setting == nullptr) setting = find_setting("speculative_config", flag.name);
    EXPECT_TRUE(set_setting_text(settings, *setting, flag.value).ok()) << flag.name;
  }
  return answer_start(resolve_model(model).value(), settings, length).value();
}

std::vector<std::string> ways(const StartAnswer& of) {
  std::vector<std::string> all;
  for (const StartAdvice& advice : of.advice) all.push_back(advice.setting + "=" + advice.value);
  return all;
}

// cases/startup_logs, F3b: a public log of 0.28.0 (there with fewer sequences).
TEST(StartAnswer, MoreSequencesThanBlocksAreRefusedAndTheLimitIsNamed) {
  const StartAnswer refused = answer(
      "Qwen/Qwen3.8-27B", {{"engine", "vllm-0.28.0"}, {"kv_cache_memory_bytes", "18.61GiB"}});
  EXPECT_FALSE(refused.starts());
  EXPECT_THAT(refused.refusal,
              HasSubstr("max_num_seqs (1024) exceeds available Mamba cache blocks (388)"));
  EXPECT_THAT(ways(refused), ElementsAre("max_num_seqs=388", "kv_cache_memory_bytes=52613349376",
                                         "cudagraph_mode=NONE"));
  EXPECT_EQ(refused.start->plan.lines.back(),
            "GPU KV cache size: 298,275 tokens, Maximum concurrency for 262,144 tokens per "
            "request: 1.14x");
}

TEST(StartAnswer, APoolTooSmallForOneRequestIsRefusedAndTheLengthThatFitsIsNamed) {
  const StartAnswer refused = answer("qwen3.8-27b", {{"engine", "vllm-0.33.0"},
                                                     {"kv_cache_memory_bytes", "18GiB"},
                                                     {"max_num_seqs", "64"},
                                                     {"num_speculative_tokens", "3"}});
  EXPECT_THAT(refused.refusal, HasSubstr("the estimated maximum model length is 261248"));
  EXPECT_THAT(ways(refused),
              ElementsAre("max_model_len=261248", "kv_cache_memory_bytes=19407831040"));
}

TEST(StartAnswer, TheLengthThatFitsCanBeAskedFor) {
  const StartAnswer starts = answer(
      "qwen3.8-27b",
      {{"engine", "vllm-0.33.0"}, {"kv_cache_memory_bytes", "10GiB"}, {"max_num_seqs", "64"}},
      WantedLength::longest_that_fits);
  EXPECT_TRUE(starts.starts());
  EXPECT_EQ(starts.settings.max_model_len, 154752);
}

TEST(StartAnswer, AReleaseWithoutTheArchitectureSaysSoInItsWords) {
  const StartAnswer refused = answer("bamba-9b", {{"engine", "vllm-0.28.0"}});
  EXPECT_THAT(refused.refusal,
              HasSubstr("Model architecture BambaForCausalLM was supported in vLLM "
                        "until v0.23.0, and is not supported anymore"));
  EXPECT_FALSE(refused.start);
  EXPECT_THAT(explain_start(refused), HasSubstr("It does not start:"));
}

TEST(StartAnswer, WhatWasNotToldIsAssumedAndSaid) {
  EXPECT_THAT(answer("qwen3.8-27b", {}).assumed,
              ElementsAre("vLLM 0.33.0, the newest that is known (--engine)",
                          "NVIDIA H100 80GB HBM3 (--gpu)",
                          "60 GiB for blocks (--kv-memory, or --gpu-memory and --weights-memory)"));
  EXPECT_THAT(
      answer("qwen3.8-27b",
             {{"engine", "vllm-0.28.0"}, {"gpu", "b200"}, {"num_gpu_blocks_override", "2000"}})
          .assumed,
      ElementsAre());
}

TEST(StartAnswer, TheJsonHasWhatTheTextHas) {
  const auto json = start_to_json(answer(
      "openai/gpt-oss-20b", {{"engine", "vllm-0.33.0"}, {"kv_cache_memory_bytes", "10GiB"}}));
  EXPECT_EQ(json["starts"], true);
  EXPECT_EQ(json["gpu"], "h100");
  EXPECT_EQ(json["kv_tokens"], 387973);
  EXPECT_EQ(json["groups"][0]["kind"], "sliding_window");
  EXPECT_EQ(json["groups"][0]["layers"], 12);
  EXPECT_EQ(
      json["log"].back(),
      "GPU KV cache size: 387,973 tokens, Maximum concurrency for 131,072 tokens per request: "
      "2.96x");
}

}  // namespace
}  // namespace hybridscope::start_answer_test
