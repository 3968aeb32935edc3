// What a folder of weights must be before a model runs.
#include "sessions/weights/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/numeric/lone_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::load_model_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kModels = HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/";

// A copy of a shipped model that a test may change.
class ChangedModel : public testing::Test {
 protected:
  void copy(const std::string& name) {
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(kModels + name + "/" + file, folder_ / file,
                                 std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
  }
  std::string read(const char* file) const { return folder_.read(file); }
  void change_config(const std::function<void(json&)>& change) {
    json config = json::parse(read("config.json"));
    change(config);
    std::filesystem::remove(folder_ / "config.json");
    folder_.write("config.json", config.dump());
  }
  // The header alone; the data stay.
  void change_header(const std::function<void(json&)>& change) {
    const std::string file = read("model.safetensors");
    std::size_t length = 0;
    for (std::size_t i = 0; i < 8; ++i)
      length |= std::size_t{static_cast<unsigned char>(file[i])} << (8 * i);
    json header = json::parse(file.substr(8, length));
    change(header);
    const std::string text = header.dump();
    std::string changed;
    for (std::size_t i = 0; i < 8; ++i)
      changed += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
    std::filesystem::remove(folder_ / "model.safetensors");
    std::ofstream(folder_ / "model.safetensors", std::ios::binary)
        << changed << text << file.substr(8 + length);
  }
  std::string error(std::int64_t most_bytes = 0) const {
    const auto loaded = load_model(folder_.path(), most_bytes);
    return loaded ? "none" : loaded.error().message;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ChangedModel, AMissingTensorIsNamed) {
  copy("model_bamba");
  change_header([](json& header) {
    header["model.layers.0.mamba.E"] = header["model.layers.0.mamba.D"];
    header.erase("model.layers.0.mamba.D");
  });
  EXPECT_THAT(error(), HasSubstr("model.safetensors: tensor \"model.layers.0.mamba.D\" is missing, "
                                 "expected one of shape [4]"));
}

TEST_F(ChangedModel, ATensorThatTheModelDoesNotHaveIsNamed) {
  copy("model_lfm2");
  change_config([](json& config) { config["layer_types"][0] = "full_attention"; });
  EXPECT_THAT(error(), HasSubstr("model.layers.0.self_attn.q_proj.weight\" is missing"));
  copy("model_lfm2");
  change_config([](json& config) {
    config["num_hidden_layers"] = 3;
    config["layer_types"].erase(3);
  });
  EXPECT_THAT(error(), HasSubstr("tensor \"model.layers.3.conv.conv.weight\" of shape [32, 1, 3] "
                                 "is none of the model's"));
}

TEST_F(ChangedModel, AnotherShapeIsNamedWithBoth) {
  copy("model_qwen3_5_text");
  change_config([](json& config) { config["vocab_size"] = 65; });
  EXPECT_THAT(error(),
              HasSubstr("tensor \"model.embed_tokens.weight\" has shape [64, 32], expected "
                        "[65, 32]"));
}

TEST_F(ChangedModel, WeightsLargerThanTheMemorySayWhatWouldFit) {
  copy("model_bamba");
  EXPECT_THAT(error(4000), HasSubstr("but only 4000 of memory may be used: a model of at most 1000 "
                                     "parameters would fit"));
}

// The weights of tied embeddings, and those of a part that drafts, are left out.
TEST_F(ChangedModel, TensorsThatAreIgnoredNeedNoMemory) {
  copy("model_lfm2");
  std::int64_t used = 0;  // bytes
  change_header([&used](json& header) {
    for (const auto& [name, tensor] : header.items())
      if (tensor.contains("data_offsets"))
        used = std::max(used, tensor.at("data_offsets").at(1).get<std::int64_t>());
    for (const std::int64_t i : {0, 1})
      header[i == 0 ? "lm_head.weight" : "mtp.fc.weight"] = {
          {"dtype", "F32"},
          {"shape", {2, 4}},
          {"data_offsets", {used + 32 * i, used + 32 * (i + 1)}}};
  });
  std::ofstream(folder_ / "model.safetensors", std::ios::binary | std::ios::app)
      << std::string(64, '\0');
  EXPECT_EQ(error(used), "none");
  EXPECT_THAT(error(used - 4), HasSubstr("would fit"));
}

TEST_F(ChangedModel, AFolderWithoutConfigIsNamed) {
  EXPECT_THAT(error(), HasSubstr("config.json: "));
}

// Qwen3-Next stacks the rows of a key head: [q | k | v | z] and [b | a]. The same weights under
// both names give the same model.
TEST_F(ChangedModel, StackedProjectionsOfQwen3NextAreSplitByKeyHead) {
  copy("model_qwen3_5_text");
  const auto plain = load_model(folder_.path());
  ASSERT_TRUE(plain) << plain.error().message;
  const auto& mixer = std::get<GatedDeltaNetMixer>(plain.value().model.layers[0].mixer);
  // 2 key heads of 8, 4 value heads of 16: q rows 0..15, k 16..31, v 32..95.
  ASSERT_EQ(mixer.in_proj_qkv.outputs, 96);
  ASSERT_EQ(mixer.in_proj_z.outputs, 64);
  const auto row = [](const Linear& linear, std::size_t i) {
    return linear.weight.subspan(i * 32, 32);
  };
  std::string stacked, gates;
  const auto append = [](std::string& to, std::span<const float> values) {
    to.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  };
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < 8; ++i) append(stacked, row(mixer.in_proj_qkv, head * 8 + i));
    for (std::size_t i = 0; i < 8; ++i) append(stacked, row(mixer.in_proj_qkv, 16 + head * 8 + i));
    for (std::size_t i = 0; i < 32; ++i)
      append(stacked, row(mixer.in_proj_qkv, 32 + head * 32 + i));
    for (std::size_t i = 0; i < 32; ++i) append(stacked, row(mixer.in_proj_z, head * 32 + i));
    for (std::size_t i = 0; i < 2; ++i) append(gates, row(mixer.in_proj_b, head * 2 + i));
    for (std::size_t i = 0; i < 2; ++i) append(gates, row(mixer.in_proj_a, head * 2 + i));
  }
  // Layer 0 keeps its names but these four; the other layers are dropped.
  const std::string file = read("model.safetensors");
  std::size_t length = 0;
  for (std::size_t i = 0; i < 8; ++i)
    length |= std::size_t{static_cast<unsigned char>(file[i])} << (8 * i);
  const json header = json::parse(file.substr(8, length));
  json changed;
  std::string data;
  const auto add = [&](const std::string& name, const json& shape, const std::string& bytes) {
    changed[name] = {{"dtype", "F32"},
                     {"shape", shape},
                     {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  };
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__" || name.find(".in_proj_") != std::string::npos) continue;
    if (name.find("layers.") != std::string::npos && name.find("layers.0.") == std::string::npos)
      continue;
    const std::size_t begin = entry["data_offsets"][0];
    const std::size_t end = entry["data_offsets"][1];
    add(name, entry["shape"], file.substr(8 + length + begin, end - begin));
  }
  add("model.layers.0.linear_attn.in_proj_qkvz.weight", {160, 32}, stacked);
  add("model.layers.0.linear_attn.in_proj_ba.weight", {8, 32}, gates);
  const std::string text = changed.dump();
  std::string start;
  for (std::size_t i = 0; i < 8; ++i) start += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  std::filesystem::remove(folder_ / "model.safetensors");
  std::ofstream(folder_ / "model.safetensors", std::ios::binary) << start << text << data;
  change_config([](json& config) {
    config["architectures"] = {"Qwen3NextForCausalLM"};
    config["model_type"] = "qwen3_next";
    config["num_experts"] = 0;
    config["num_hidden_layers"] = 1;
    config["layer_types"] = {"linear_attention"};
  });
  const auto stacked_model = load_model(folder_.path());
  ASSERT_TRUE(stacked_model) << stacked_model.error().message;
  const auto& other = std::get<GatedDeltaNetMixer>(stacked_model.value().model.layers[0].mixer);
  const auto values = [](const Linear& linear) {
    return std::vector<float>(linear.weight.begin(), linear.weight.end());
  };
  EXPECT_EQ(values(other.in_proj_qkv), values(mixer.in_proj_qkv));
  EXPECT_EQ(values(other.in_proj_z), values(mixer.in_proj_z));
  EXPECT_EQ(values(other.in_proj_b), values(mixer.in_proj_b));
  EXPECT_EQ(values(other.in_proj_a), values(mixer.in_proj_a));
}

// The model of a checkpoint with images lies under text_config and model.language_model.
TEST_F(ChangedModel, TheLanguageModelOfACheckpointWithImagesIsRun) {
  copy("model_qwen3_5_text");
  const LoadedModel plain = load_model(folder_.path()).value();
  change_header([](json& header) {
    json changed;
    for (const auto& [name, entry] : header.items())
      changed[name.starts_with("model.") ? "model.language_model." + name.substr(6) : name] = entry;
    header = changed;
  });
  change_config([](json& config) {
    json wrapped = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                    {"model_type", "qwen3_5"},
                    {"text_config", config}};
    config = wrapped;
  });
  const auto wrapped = load_model(folder_.path());
  ASSERT_TRUE(wrapped) << wrapped.error().message;
  const std::int32_t tokens[] = {3, 14, 15};
  LoneRun one(plain.model);
  LoneRun other(wrapped.value().model);
  one.extend(tokens);
  other.extend(tokens);
  EXPECT_EQ(one.logits(2), other.logits(2));
}

}  // namespace
}  // namespace hybridscope::load_model_test
