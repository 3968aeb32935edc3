#include "sessions/startup/architectures.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/sessions/startup/startup_cases.h"

namespace hybridscope::test::architectures_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Result<StartupModel> read(std::string_view config, const StartupSettings& settings) {
  return read_startup_model({config, "config.json"}, {}, settings);
}

std::string error_of(std::string_view config, Release release, const char* method = "") {
  StartupSettings settings = settings_of(release, "h100");
  settings.speculative_method = method;
  const auto model = read(config, settings);
  return model.ok() ? "" : model.error().message;
}

TEST(Architectures, AKeyUnderTextConfigIsReadAsOneOfTheFile) {
  const StartupModel model = read(kQwen27B, settings_of(Release::v0_33_0, "h100")).value();
  EXPECT_EQ(model.layers.size(), 64u);
  EXPECT_TRUE(model.layers[0].is_state());
  EXPECT_FALSE(model.layers[3].is_state());
  EXPECT_EQ(model.max_model_len, 262144);
}

TEST(Architectures, MtpAddsTheLayersThatTheFileCounts) {
  StartupSettings settings = settings_of(Release::v0_33_0, "h100");
  settings.speculative_method = "qwen3_5_mtp";  // a former name of mtp
  settings.num_speculative_tokens = 3;
  const StartupModel model = read(kQwen27B, settings).value();
  ASSERT_EQ(model.layers.size(), 65u);
  EXPECT_EQ(model.layers.back().name, "mtp.64");
  EXPECT_TRUE(model.layers.back().is_draft);
}

TEST(Architectures, AReleaseRefusesWhatItHasNotYetOrNoMore) {
  EXPECT_THAT(error_of(R"({"architectures": ["Qwen4ExpForCausalLM"]})", Release::v0_28_0),
              HasSubstr("['Qwen4ExpForCausalLM'] are not supported for now."));
  EXPECT_THAT(error_of(R"({"architectures": ["BambaForCausalLM"]})", Release::v0_24_0),
              HasSubstr("Model architecture BambaForCausalLM was supported in vLLM until v0.23.0, "
                        "and is not supported anymore."));
  EXPECT_THAT(error_of(R"({"architectures": ["Plamo2ForCausalLM"]})", Release::v0_27_1),
              HasSubstr("until v0.26.0"));
  EXPECT_THAT(error_of(R"({"architectures": ["Glm5NextForCausalLM"]})", Release::v0_24_0, "mtp"),
              HasSubstr("NotImplementedError: Unsupported speculative method: 'mtp'"));
  EXPECT_THAT(
      error_of(R"({"architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3"})",
               Release::v0_26_0),
      HasSubstr("model type `kimi_k3` but Transformers does not recognize this architecture."));
}

TEST(Architectures, WhatIsNotModelledIsSaidAndNotGuessed) {
  EXPECT_EQ(error_of(R"({"architectures": ["Glm5NextForCausalLM"]})", Release::v0_31_0),
            "Glm5NextForCausalLM: how 0.31.0 groups its layers is not modelled; that of 0.32.0 and "
            "later is");
}

TEST(Architectures, OneThatNobodyKnowsIsNamedWithTheKeyAndTheNearest) {
  const std::string message =
      error_of(R"({"architectures": ["Qwen3NexForCausalLM"]})", Release::v0_33_0);
  EXPECT_THAT(message, StartsWith("config.json: key \"architectures\": found "));
  EXPECT_THAT(message, HasSubstr("Qwen3NextForCausalLM"));
}

TEST(Architectures, ABadKeyIsNamedWithItsPlace) {
  EXPECT_THAT(error_of(R"({"architectures": ["Qwen3_5ForConditionalGeneration"],
                           "text_config": {"num_hidden_layers": "many"}})",
                       Release::v0_33_0),
              HasSubstr("text_config: key \"linear_num_key_heads\" is missing"));
  EXPECT_THAT(error_of("[", Release::v0_33_0), StartsWith("config.json: not a JSON text: "));
  EXPECT_EQ(error_of("[1]", Release::v0_33_0), "config.json: found array, expected a JSON object");
}

TEST(Architectures, AttentionHeadsAreDividedAmongTheRanks) {
  StartupSettings settings = settings_of(Release::v0_33_0, "h100");
  settings.tensor_parallel_size = 16;
  EXPECT_THAT(read(kQwen27B, settings).error().message,
              HasSubstr("Total number of attention heads (24) must be divisible by tensor parallel "
                        "size (16)."));
}

}  // namespace
}  // namespace hybridscope::test::architectures_test
