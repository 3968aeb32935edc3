// What config.json of a model that runs must say.
#include "sessions/weights/weights_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/temporary_folder.h"

namespace hybridscope::weights_config_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json shipped(const std::string& model) {
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/" + model + "/config.json");
  return json::parse(file);
}

Result<WeightsConfig> load(const json& config) {
  const test::TemporaryFolder folder;
  folder.write("config.json", config.dump());
  return load_weights_config(folder.path());
}

std::string error_of(const json& config) {
  const auto loaded = load(config);
  return loaded ? "none" : loaded.error().message;
}

// ff = int(2 * 60 / 3) = 40, times 1.0, up to a multiple of 8.
TEST(WeightsConfigFile, Lfm2CutsItsFeedForwardLayersToTwoThirds) {
  EXPECT_EQ(load(shipped("model_lfm2")).value().intermediate_size, 40);
  json config = shipped("model_lfm2");
  config["block_auto_adjust_ff_dim"] = false;
  EXPECT_EQ(load(config).value().intermediate_size, 60);
  config["block_ff_dim"] = 72;
  EXPECT_EQ(load(config).value().intermediate_size, 72);
}

// Bamba turns half of a head of 8, whatever its file says; Qwen3.5 a quarter of 16; LFM2 all of 8.
TEST(WeightsConfigFile, EachArchitectureTurnsItsPartOfAHead) {
  json bamba = shipped("model_bamba");
  bamba["rope_parameters"]["partial_rotary_factor"] = 1.0;
  EXPECT_EQ(load(bamba).value().rotary_dim, 4);
  EXPECT_EQ(load(shipped("model_qwen3_5_text")).value().rotary_dim, 4);
  EXPECT_EQ(load(shipped("model_lfm2")).value().rotary_dim, 8);
}

TEST(WeightsConfigFile, OldFilesHaveTheRopeBaseAtTheTop) {
  json config = shipped("model_lfm2");
  config.erase("rope_parameters");
  EXPECT_EQ(load(config).value().rope_theta, 1e6);
  config["rope_theta"] = 50000.0;
  EXPECT_EQ(load(config).value().rope_theta, 50000.0);
}

TEST(WeightsConfigFile, AnotherRopeTypeIsRefused) {
  json config = shipped("model_bamba");
  config["rope_parameters"]["rope_type"] = "yarn";
  EXPECT_THAT(error_of(config),
              HasSubstr("key \"rope_type\": found \"yarn\", expected \"default\""));
}

TEST(WeightsConfigFile, AnotherModelTypeIsRefused) {
  json config = shipped("model_bamba");
  config["model_type"] = "mamba";
  EXPECT_THAT(error_of(config), HasSubstr("key \"model_type\": found \"mamba\", expected bamba"));
  config.erase("model_type");
  EXPECT_THAT(error_of(config), HasSubstr("key \"model_type\" is missing"));
}

TEST(WeightsConfigFile, AMissingKeyIsNamed) {
  for (const char* key : {"vocab_size", "hidden_size", "mamba_n_heads", "num_key_value_heads"}) {
    json config = shipped("model_bamba");
    config.erase(key);
    EXPECT_THAT(error_of(config), HasSubstr(std::string("key \"") + key + "\" is missing")) << key;
  }
}

TEST(WeightsConfigFile, NumbersThatMakeNoModelAreRefused) {
  const auto changed = [](const char* key, const json& value) {
    json config = shipped("model_bamba");
    config[key] = value;
    return error_of(config);
  };
  EXPECT_THAT(changed("rms_norm_eps", -1), HasSubstr("eps of its norms is negative"));
  EXPECT_THAT(changed("time_step_limit", {5, 1}), HasSubstr("the smaller number first"));
  EXPECT_THAT(changed("mamba_d_state", 1 << 24), HasSubstr("a layer of more than 268,435,456"));
}

TEST(WeightsConfigFile, ExpertsAreRefused) {
  json config = shipped("model_qwen3_5_text");
  config["num_experts"] = 8;
  EXPECT_THAT(error_of(config), HasSubstr("key \"num_experts\": found 8, expected 0"));
  config["mlp_only_layers"] = {0, 1, 2, 3};
  EXPECT_EQ(error_of(config), "none");
}

TEST(WeightsConfigFile, AnotherActivationIsRefused) {
  json config = shipped("model_bamba");
  config["hidden_act"] = "gelu";
  EXPECT_THAT(error_of(config), HasSubstr("key \"hidden_act\": found \"gelu\", expected \"silu\""));
}

// Every fourth layer is attention where the file lists no layers.
TEST(WeightsConfigFile, Qwen35HasAnAttentionLayerEveryFourLayersByDefault) {
  json config = shipped("model_qwen3_5_text");
  config.erase("layer_types");
  const auto loaded = load(config);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded.value().model.layers[2], LayerKind::recurrent);
  EXPECT_EQ(loaded.value().model.layers[3], LayerKind::attention);
}

}  // namespace
}  // namespace hybridscope::weights_config_test
