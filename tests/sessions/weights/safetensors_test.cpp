// What a safetensors file may be, and how each bad one is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "sessions/weights/load_model.h"
#include "sessions/weights/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::safetensors_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file: the header's length in eight bytes, the header, the data.
std::string file_of(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return text + header + data;
}

class SafetensorsFile : public testing::Test {
 protected:
  void write(const std::string& header, const std::string& data) {
    folder_.write("model.safetensors", file_of(header, data));
  }
  // Of opening, or of the values of tensor "w".
  std::string error() const {
    const auto opened = Safetensors::open(folder_.path());
    if (!opened) return opened.error().message;
    const StoredTensor* tensor = opened.value().find("w");
    if (tensor == nullptr) return "no tensor w";
    const auto values = tensor_values("w", *tensor);
    return values ? "none" : values.error().message;
  }
  std::vector<float> values() const {
    const auto opened = Safetensors::open(folder_.path());
    return tensor_values("w", *opened.value().find("w")).value();
  }

  test::TemporaryFolder folder_;
};

std::string bytes_of_floats(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) text += static_cast<char>((bits >> (8 * i)) & 0xFF);
  }
  return text;
}

TEST_F(SafetensorsFile, Float32ValuesAreTakenAsTheyAre) {
  write(R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
        bytes_of_floats({1.5F, -0x1p-140F}));
  EXPECT_THAT(values(), ElementsAre(1.5F, -0x1p-140F));
}

// bfloat16 is the upper half of a float32.
TEST_F(SafetensorsFile, Bfloat16ValuesAreWidened) {
  write(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})",
        std::string("\xC0\x3F\x00\xC1", 4));
  EXPECT_THAT(values(), ElementsAre(1.5F, -8.0F));
}

// 0x3E00 = 1.5, 0x8001 = -2^-24 (denormal), 0x7BFF = 65504.
TEST_F(SafetensorsFile, Float16ValuesAreWidened) {
  write(R"({"w":{"dtype":"F16","shape":[3],"data_offsets":[0,6]}})",
        std::string("\x00\x3E\x01\x80\xFF\x7B", 6));
  EXPECT_THAT(values(), ElementsAre(1.5F, -0x1p-24F, 65504.0F));
}

TEST_F(SafetensorsFile, ATruncatedFileIsRefused) {
  folder_.write("model.safetensors", "abc");
  EXPECT_THAT(error(), HasSubstr("model.safetensors: has 3 bytes"));
  folder_.write("model.safetensors", std::string("\x40\0\0\0\0\0\0\0{}", 10));
  EXPECT_THAT(error(), HasSubstr("its header has 64 bytes, expected at most the 2"));
  write(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": data_offsets [0,8], expected ascending offsets "
                                 "into the 4 bytes behind the header"));
}

TEST_F(SafetensorsFile, AnEmptyOrMissingFileIsRefused) {
  EXPECT_THAT(error(), HasSubstr("model.safetensors: cannot be opened"));
  folder_.write("model.safetensors", "");
  EXPECT_THAT(error(), HasSubstr("model.safetensors: is empty"));
}

TEST_F(SafetensorsFile, BytesThatDoNotFitTheShapeAreRefused) {
  write(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": 8 bytes for shape [3] of dtype F32"));
  write(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
        "12345678");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\""));
}

TEST_F(SafetensorsFile, GapsOverlapsAndRestsAreRefused) {
  write(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
        R"("x":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
        "123");
  EXPECT_THAT(error(), HasSubstr("tensor \"x\" begins at byte 1 of the data, expected 2"));
  write(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "123");
  EXPECT_THAT(error(), HasSubstr("1 bytes behind the last tensor"));
}

TEST_F(SafetensorsFile, AnotherDtypeIsRefusedWhenItIsUsed) {
  write(R"({"w":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": dtype I32, expected F32, BF16 or F16"));
  write(R"({"w":{"dtype":"F13","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": unknown dtype \"F13\""));
}

TEST_F(SafetensorsFile, NanAndInfinityAreRefused) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write(header, bytes_of_floats({1.0F, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": element 1 is nan, expected finite values"));
  write(header, bytes_of_floats({-std::numeric_limits<float>::infinity(), 1.0F}));
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": element 0 is -inf"));
}

class ShardedFile : public SafetensorsFile {
 protected:
  void SetUp() override {
    folder_.write("a.safetensors",
                  file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                          bytes_of_floats({3.0F})));
    folder_.write("b.safetensors",
                  file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                          bytes_of_floats({4.0F})));
  }
  void write_index(const std::string& map) {
    folder_.write("model.safetensors.index.json", R"({"weight_map":)" + map + "}");
  }
};

TEST_F(ShardedFile, TensorsComeFromTheFilesThatTheIndexNames) {
  write_index(R"({"w":"a.safetensors","x":"b.safetensors"})");
  EXPECT_THAT(values(), ElementsAre(3.0F));
}

TEST_F(ShardedFile, ATensorThatIsNotWhereTheIndexSaysIsNamed) {
  write_index(R"({"w":"b.safetensors","x":"a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\" is missing, expected in "));
  write_index(R"({"w":"a.safetensors","y":"b.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"y\" is missing, expected in "));
}

TEST_F(ShardedFile, AFileOfAnotherFolderIsRefused) {
  write_index(R"({"w":"../a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("/weight_map/w: found \"../a.safetensors\", expected the name of "
                                 "a file in the same folder"));
}

TEST_F(ShardedFile, ANameInTwoFilesIsRefused) {
  folder_.write("b.safetensors", file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                         R"("x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                         bytes_of_floats({3.0F, 4.0F})));
  write_index(R"({"w":"a.safetensors","x":"b.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": is in "));
}

// What config.json of a model that runs must say.

using nlohmann::json;

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
  EXPECT_THAT(changed("vocab_size", 1 << 29), HasSubstr("a layer of more than 268,435,456"));
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

}  // namespace hybridscope::safetensors_test
