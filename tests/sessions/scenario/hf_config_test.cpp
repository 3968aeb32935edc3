#include "sessions/scenario/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/model/model_presets.h"

namespace hybridscope::hf_config_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kMamba = R"({
  "architectures": ["MambaForCausalLM"], "hidden_size": 2560, "num_hidden_layers": 64,
  "intermediate_size": 5120, "state_size": 16, "conv_kernel": 4, "torch_dtype": "float32"})";

constexpr const char* kMamba2 = R"({
  "architectures": ["Mamba2ForCausalLM"], "hidden_size": 2560, "expand": 2,
  "num_hidden_layers": 64, "n_groups": 1, "num_heads": 80, "head_dim": 64, "state_size": 128,
  "conv_kernel": 4, "chunk_size": 256, "torch_dtype": "bfloat16"})";

constexpr const char* kBamba = R"({
  "architectures": ["BambaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
  "attn_layer_indices": [9, 18, 27], "num_attention_heads": 32, "num_key_value_heads": 8,
  "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_d_head": "auto",
  "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_chunk_size": 256,
  "max_position_embeddings": 262144, "torch_dtype": "bfloat16"})";

constexpr const char* kNemotronH = R"({
  "architectures": ["NemotronHForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 52,
  "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
  "num_attention_heads": 32, "num_key_value_heads": 8, "attention_head_dim": 128,
  "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
  "conv_kernel": 4, "chunk_size": 128, "max_position_embeddings": 8192,
  "torch_dtype": "bfloat16"})";

constexpr const char* kQwen3Next = R"({
  "architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 48,
  "full_attention_interval": 4, "head_dim": 256, "hidden_size": 2048,
  "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
  "linear_num_value_heads": 32, "linear_value_head_dim": 128, "num_attention_heads": 16,
  "num_key_value_heads": 2, "max_position_embeddings": 262144, "torch_dtype": "bfloat16"})";

constexpr const char* kKimi = R"({
  "architectures": ["KimiLinearForCausalLM"], "num_hidden_layers": 27, "kv_lora_rank": 512,
  "qk_rope_head_dim": 64, "model_max_length": 1048576, "dtype": "bfloat16",
  "linear_attn_config": {
    "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128,
    "kda_layers": [1,2,3,5,6,7,9,10,11,13,14,15,17,18,19,21,22,23,25,26],
    "num_heads": 32, "short_conv_kernel_size": 4}})";

constexpr const char* kLfm2 = R"({
  "architectures": ["Lfm2ForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 16,
  "full_attn_idxs": [2, 5, 8, 10, 12, 14], "num_attention_heads": 32, "num_key_value_heads": 8,
  "conv_L_cache": 3, "max_position_embeddings": 128000, "torch_dtype": "bfloat16"})";

std::string granite_text() {
  Json json = {{"architectures", {"GraniteMoeHybridForCausalLM"}},
               {"hidden_size", 4096},
               {"num_hidden_layers", 40},
               {"num_attention_heads", 32},
               {"num_key_value_heads", 8},
               {"mamba_expand", 2},
               {"mamba_n_groups", 1},
               {"mamba_n_heads", 128},
               {"mamba_d_head", 64},
               {"mamba_d_state", 128},
               {"mamba_d_conv", 4},
               {"mamba_chunk_size", 256},
               {"max_position_embeddings", 131072},
               {"dtype", "bfloat16"}};
  for (int i = 0; i < 40; ++i) json["layer_types"].push_back(i % 10 == 5 ? "attention" : "mamba");
  return json.dump();
}

std::string minimax_text() {
  Json json = {{"architectures", {"MiniMaxText01ForCausalLM"}},
               {"hidden_size", 6144},
               {"num_hidden_layers", 80},
               {"num_attention_heads", 64},
               {"num_key_value_heads", 8},
               {"head_dim", 128},
               {"max_position_embeddings", 10240000}};
  for (int i = 0; i < 80; ++i) json["attn_type_list"].push_back(i % 8 == 7 ? 1 : 0);
  return json.dump();
}

std::string error_of(const std::string& text) {
  const auto model = parse_hf_config({.text = text, .file = "config.json"});
  return model ? "" : model.error().message;
}

// `text` with one key replaced, or removed for a null.
std::string with(const std::string& text, const char* key, const Json& value) {
  Json json = Json::parse(text);
  if (value.is_null())
    json.erase(key);
  else
    json[key] = value;
  return json.dump();
}

struct FamilyText {
  std::string preset;
  std::string text;
};

class HfConfigFamily : public testing::TestWithParam<FamilyText> {};

TEST_P(HfConfigFamily, GivesThePreset) {
  const auto read = parse_hf_config({.text = GetParam().text, .file = "config.json"});
  ASSERT_TRUE(read.ok()) << read.error().message;
  ModelSpec model = read.value();
  EXPECT_EQ(model.name, "config.json");
  const ModelSpec preset = model_preset(GetParam().preset).value();
  model.name = preset.name;
  model.source = preset.source;
  EXPECT_EQ(model.config, GetParam().text);
  model.config.clear();
  // vLLM's length of a file without one; the presets have a longer one.
  const bool has_length = GetParam().text.find("max_") != std::string::npos;
  if (!has_length) {
    EXPECT_EQ(model.max_model_len, 2048);
    model.max_model_len = preset.max_model_len;
  }
  EXPECT_EQ(model.layers, preset.layers);
  EXPECT_TRUE(model.recurrent == preset.recurrent);
  EXPECT_TRUE(model.attention == preset.attention);
  EXPECT_EQ(model, preset);
}

// vLLM models/config.py, NemotronHForCausalLMConfig.
TEST(HfConfig, NemotronHHasTheDtypeOfItsFileElseFloat32) {
  const auto dtype = [](const Json& value) {
    const std::string text = with(kNemotronH, "mamba_ssm_cache_dtype", value);
    return parse_hf_config({.text = text, .file = "config.json"}).value().mamba_ssm_dtype;
  };
  EXPECT_EQ(dtype(nullptr), "float32");
  EXPECT_EQ(dtype("bfloat16"), "bfloat16");
  EXPECT_THAT(error_of(with(kNemotronH, "mamba_ssm_cache_dtype", "int8")),
              HasSubstr("\"mamba_ssm_cache_dtype\""));
}

TEST_P(HfConfigFamily, NamesAMissingOrWrongNumberOfLayers) {
  EXPECT_THAT(error_of(with(GetParam().text, "num_hidden_layers", nullptr)),
              HasSubstr("config.json: key \"num_hidden_layers\" is missing"));
  EXPECT_THAT(error_of(with(GetParam().text, "num_hidden_layers", 2000000000)),
              HasSubstr("\"num_hidden_layers\""));
}

// Every key but these, removed or made negative, is an error that names the key.
TEST_P(HfConfigFamily, NamesEveryKeyThatItNeeds) {
  const std::vector<std::string> optional = {"torch_dtype", "dtype", "head_dim", "hidden_size",
                                             "num_attention_heads"};
  const std::vector<std::string> with_default = {
      "chunk_size",       "full_attention_interval", "intermediate_size",
      "mamba_chunk_size", "max_position_embeddings", "model_max_length",
      "qk_rope_head_dim", "attention_head_dim"};
  const Json json = Json::parse(GetParam().text);
  for (const auto& [key, value] : json.items()) {
    if (std::find(optional.begin(), optional.end(), key) != optional.end()) continue;
    EXPECT_THAT(error_of(with(GetParam().text, key.c_str(), -1)), HasSubstr("\"" + key + "\""));
    if (std::ranges::find(with_default, key) != with_default.end()) continue;
    EXPECT_NE(error_of(with(GetParam().text, key.c_str(), nullptr)), "") << key;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, HfConfigFamily,
    testing::Values(FamilyText{"mamba-2.8b", kMamba}, FamilyText{"mamba2-2.7b", kMamba2},
                    FamilyText{"bamba-9b", kBamba}, FamilyText{"nemotron-h-8b", kNemotronH},
                    FamilyText{"granite-4.0-h-small", granite_text()},
                    FamilyText{"qwen3-next-80b-a3b", kQwen3Next},
                    FamilyText{"kimi-linear-48b-a3b", kKimi}, FamilyText{"lfm2-1.2b", kLfm2},
                    FamilyText{"minimax-text-01", minimax_text()}),
    [](const auto& test) {
      std::string name = test.param.preset;
      for (char& letter : name)
        if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
      return name;
    });

TEST(HfConfig, LayerTypesMayStandInForTheInterval) {
  Json json = Json::parse(with(kQwen3Next, "full_attention_interval", nullptr));
  for (int i = 0; i < 48; ++i)
    json["layer_types"].push_back(i % 4 == 3 ? "full_attention" : "linear_attention");
  const auto model = parse_hf_config({.text = json.dump(), .file = "config.json"});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().layers, model_preset("qwen3-next-80b-a3b").value().layers);
}

TEST(HfConfig, AnUnknownArchitectureListsTheKnownOnes) {
  EXPECT_THAT(error_of(R"({"architectures": ["RwkvForCausalLM"]})"),
              AllOf(HasSubstr("config.json"), HasSubstr("RwkvForCausalLM"),
                    HasSubstr("Qwen3NextForCausalLM"), HasSubstr("MambaForCausalLM")));
  EXPECT_THAT(error_of("{}"), HasSubstr("key \"architectures\" is missing"));
  EXPECT_THAT(error_of(R"({"architectures": []})"), HasSubstr("found []"));
  EXPECT_THAT(error_of(R"({"architectures": "Qwen3NextForCausalLM"})"),
              HasSubstr("a list of strings"));
}

TEST(HfConfig, WhatIsNoJsonObjectIsCorrupt) {
  for (const std::string text : {"", "{", "[1, 2]", "null", "{\"architectures\": [\"Mam",
                                 "{\"architectures\": [\"\xff\xfe\"]}", "\x80"}) {
    const auto model = parse_hf_config({.text = text, .file = "config.json"});
    ASSERT_FALSE(model.ok()) << text;
    EXPECT_EQ(model.error().kind, ErrorKind::corrupt) << text;
    EXPECT_THAT(model.error().message, HasSubstr("config.json")) << text;
  }
}

TEST(HfConfig, EveryTruncationOfAFileIsAnError) {
  const std::string text = kKimi;
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(error_of(text.substr(0, length)), "") << length;
}

TEST(HfConfig, DeeplyNestedTextDoesNotOverflowTheStack) {
  EXPECT_NE(error_of(std::string(200000, '[')), "");
  EXPECT_NE(error_of(std::string(200000, '[') + std::string(200000, ']')), "");
}

TEST(HfConfig, NumbersOutOfRangeAreNamedWithWhatWasFound) {
  for (const char* number : {"0", "-4", "2.5", "1e30", "99999999999999999999999", "2147483648",
                             "18446744073709551615", "true", "\"32\"", "null", "[]"}) {
    Json json = Json::parse(kQwen3Next);
    json["linear_num_value_heads"] = Json::parse(number);
    EXPECT_THAT(error_of(json.dump()),
                AllOf(HasSubstr("config.json: key \"linear_num_value_heads\": found "),
                      HasSubstr("expected a whole number from 1 to 2147483647")))
        << number;
  }
}

TEST(HfConfig, DimensionsThatAFamilyDoesNotNeedAreCheckedWhenTheyAreThere) {
  for (const char* key : {"hidden_size", "num_attention_heads", "head_dim"})
    for (const char* number : {"0", "-4", "\"32\""}) {
      Json json = Json::parse(kQwen3Next);
      json[key] = Json::parse(number);
      EXPECT_THAT(error_of(json.dump()), HasSubstr("key \"" + std::string(key) + "\": found "))
          << number;
    }
}

TEST(HfConfig, DimensionsBeyondAllSenseAreRefused) {
  EXPECT_THAT(error_of(with(kQwen3Next, "linear_value_head_dim", 2000000000)),
              HasSubstr("head_v_dim 2000000000"));
  EXPECT_THAT(error_of(with(kMamba2, "hidden_size", 2147483647)), HasSubstr("intermediate_size"));
}

TEST(HfConfig, LongValuesAreCutInMessages) {
  const std::string message = error_of(with(kQwen3Next, "head_dim", std::string(10000, 'x')));
  EXPECT_THAT(message, HasSubstr("..."));
  EXPECT_LT(message.size(), 300u);
}

TEST(HfConfig, LayerListsHaveToFitTheModel) {
  EXPECT_THAT(error_of(with(kBamba, "attn_layer_indices", {9, 32})),
              HasSubstr("has layer 32, expected 0 to 31"));
  EXPECT_THAT(error_of(with(kNemotronH, "num_hidden_layers", 51)),
              HasSubstr("has 52 layers, but \"num_hidden_layers\" is 51"));
  EXPECT_THAT(error_of(with(kNemotronH, "hybrid_override_pattern", "M?")),
              HasSubstr("letter 1 is '?'"));
  EXPECT_THAT(error_of(with(granite_text(), "layer_types", {"mamba", "sliding"})),
              HasSubstr("layer 1 is \"sliding\""));
  EXPECT_THAT(error_of(with(minimax_text(), "attn_type_list", {0, 2})), HasSubstr("is 2"));
  const std::string attends =
      with(kLfm2, "full_attn_idxs", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(parse_hf_config({.text = attends, .file = "c"}).value().not_run_because,
            "no layer is recurrent");
}

TEST(HfConfig, KimiLayersAreCountedFromOneAndAllAccountedFor) {
  Json json = Json::parse(kKimi);
  json["linear_attn_config"]["full_attn_layers"] = {4, 8, 12, 16, 20, 24};
  EXPECT_THAT(error_of(json.dump()), HasSubstr("layer 27 is in neither"));
  json["linear_attn_config"]["full_attn_layers"] = {0};
  EXPECT_THAT(error_of(json.dump()),
              HasSubstr("config.json: linear_attn_config: key \"full_attn_layers\" has layer 0"));
  json["linear_attn_config"] = 3;
  EXPECT_THAT(error_of(json.dump()), HasSubstr("found 3, expected an object"));
}

TEST(HfConfig, ADtypeIsReadAndFloat32RunsInBfloat16) {
  const auto dtype = [](const Json& name) {
    return parse_hf_config({.text = with(kQwen3Next, "torch_dtype", name), .file = "c"})
        .value()
        .dtype;
  };
  EXPECT_EQ(dtype("float16"), "float16");
  EXPECT_EQ(dtype("float32"), "bfloat16");
  EXPECT_EQ(dtype(nullptr), "bfloat16");
  EXPECT_THAT(error_of(with(kQwen3Next, "torch_dtype", "int4")),
              HasSubstr("key \"torch_dtype\": found \"int4\""));
}

class HfConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("hf_config_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& text) const {
    const auto path = folder_ / "config.json";
    std::ofstream(path) << text;
    return path.string();
  }
  std::filesystem::path folder_;
};

TEST_F(HfConfigFile, AModelIsAPresetOrAPath) {
  const std::string path = write(kQwen3Next);
  EXPECT_EQ(resolve_model("tiny-gdn").value().name, "tiny-gdn");
  EXPECT_EQ(resolve_model(path).value().name, path);
  EXPECT_EQ(resolve_model(folder_.string()).value().name, path);
  const auto unknown = resolve_model("tiny");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::not_found);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("tiny-mamba2"), HasSubstr("config.json")));
}

TEST_F(HfConfigFile, AFileThatCannotBeReadIsAnIoError) {
  for (const std::string& path : {folder_.string() + "/absent.json", folder_.string()}) {
    const auto model = load_hf_config(path);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().kind, ErrorKind::io);
    EXPECT_THAT(model.error().message, HasSubstr(path));
  }
  const std::string huge = write("{}");
  std::filesystem::resize_file(huge, 17 << 20);
  EXPECT_THAT(load_hf_config(huge).error().message, HasSubstr("more than a config.json"));
}

}  // namespace
}  // namespace hybridscope::hf_config_test
