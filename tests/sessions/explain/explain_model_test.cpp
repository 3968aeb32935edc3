#include "sessions/explain/explain_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/model/model_presets.h"
#include "sessions/explain/explain_model_words.h"

namespace hybridscope::explain_model_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ModelLayout layout_of(const std::string& preset, KVCacheSettings settings) {
  if (settings.kv_cache_memory_bytes == 0 && !settings.num_gpu_blocks_override)
    settings.num_gpu_blocks_override = 100;
  auto layout = build_kv_cache_config(model_preset(preset).value(), settings);
  if (!layout) throw std::runtime_error(layout.error().message);
  return std::move(layout).value();
}

TEST(ExplainModel, ShowsTheFormulaOfEveryWorkedFigure) {
  const std::string text = explain_model(
      layout_of("qwen3-next-80b-a3b",
                {.num_speculative_tokens = 2, .kv_cache_memory_bytes = std::int64_t{60} << 30}));
  EXPECT_THAT(text, HasSubstr("[5, 8192] bfloat16 = 81,920 bytes"));
  EXPECT_THAT(text, HasSubstr("2 * 2 kv heads * 256 head size * 2 bytes = 2,048 bytes"));
  EXPECT_THAT(text, HasSubstr("560 tokens = 16 * ceil(1,130,496 / (16 * 2,048))"));
  EXPECT_THAT(text, HasSubstr("1,146,880 bytes = 560 * 2,048; 16,384 of them (1.449 %"));
  EXPECT_THAT(text, HasSubstr("4,681 blocks = floor(64,424,509,440 bytes / (1,146,880 * 12"));
  EXPECT_THAT(text, HasSubstr("12 layers, the fewest of a kind, because 36 is not below 1.5 * 12"));
  EXPECT_THAT(text, HasSubstr("group 3       gdn_attention, 12 layers: 2, 6, 10"));
}

TEST(ExplainModel, SaysWhyModeAllBecameAlign) {
  const std::string text =
      explain_model(layout_of("tiny-gdn", {.mamba_cache_mode = MambaCacheMode::all}));
  EXPECT_THAT(text, HasSubstr("align: mode all was asked for, but gdn_attention layers"));
  EXPECT_THAT(text, HasSubstr("all     not available"));
}

TEST(ExplainModel, SaysThatModeNoneTurnsCachingOff) {
  const std::string text = explain_model(layout_of("tiny-gdn", {.enable_prefix_caching = false}));
  EXPECT_THAT(text, HasSubstr("none: prefix caching is off"));
  EXPECT_THAT(text, Not(HasSubstr("prefix hits")));
}

TEST(ExplainModel, ModeAllShowsTheChunk) {
  const std::string text = explain_model(layout_of("bamba-9b", {}));
  EXPECT_THAT(text, HasSubstr("256 = lcm(256 chunk size, 16 alignment)"));
  EXPECT_THAT(text, HasSubstr("768 tokens = 256 * ceil(ceil(2,147,840 / 4,096) / 256)"));
  EXPECT_THAT(text, HasSubstr("2 layers and 1 of padding"));
  EXPECT_THAT(text, HasSubstr("1 of 33 layer slots hold nothing"));
}

TEST(ExplainModel, SaysWhereTheReferenceForgetsTheDrafts) {
  const KVCacheSettings settings{.num_speculative_tokens = 2};
  EXPECT_THAT(explain_model(layout_of("granite-4.0-h-small", settings)), HasSubstr("past its end"));
  EXPECT_THAT(explain_model(layout_of("qwen3-next-80b-a3b", settings)),
              Not(HasSubstr("past its end")));
  EXPECT_THAT(explain_model(layout_of("granite-4.0-h-small", {})), Not(HasSubstr("past its end")));
}

TEST(ExplainModel, WarnsWhenABlockIsAsLongAsTheLongestRequest) {
  EXPECT_THAT(explain_model(layout_of("qwen3-next-80b-a3b", {.max_model_len = 500})),
              HasSubstr("so no prefix can ever"));
  EXPECT_THAT(explain_model(layout_of("qwen3-next-80b-a3b", {.max_model_len = 5000})),
              Not(HasSubstr("so no prefix can ever")));
}

TEST(ExplainModel, WarnsWhenThePoolCannotHoldTheLongestRequest) {
  EXPECT_THAT(explain_model(layout_of("tiny-mamba2", {})), HasSubstr("cannot be served"));
  EXPECT_THAT(explain_model(layout_of("tiny-mamba2", {.num_gpu_blocks_override = 8192})),
              Not(HasSubstr("cannot be served")));
}

TEST(ExplainModel, NoLineOfAnyPresetAndModeIsLongerThan100Columns) {
  for (const std::string& name : model_preset_names()) {
    for (const MambaCacheMode mode :
         {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all}) {
      std::istringstream text(
          explain_model(layout_of(name, {.mamba_cache_mode = mode, .num_speculative_tokens = 3})));
      for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

TEST(ExplainModelJson, HasTheSameNumbers) {
  const auto json = explain_model_json(
      layout_of("qwen3-next-80b-a3b",
                {.num_speculative_tokens = 2, .kv_cache_memory_bytes = std::int64_t{60} << 30}));
  EXPECT_EQ(json.at("mamba_cache_mode"), "align");
  EXPECT_EQ(json.at("num_blocks"), 4681);
  EXPECT_EQ(json.at("page").at("block_size"), 560);
  EXPECT_EQ(json.at("page").at("page_size_bytes"), 1146880);
  EXPECT_EQ(json.at("states").at(0).at("shape"), nlohmann::ordered_json({5, 8192}));
  EXPECT_EQ(json.at("layer_groups").at("groups").size(), 4u);
  EXPECT_EQ(json.at("blocks_a_request_can_need").at(2).at("supported"), false);
  EXPECT_EQ(json.begin().key(), "model");
}

}  // namespace
}  // namespace hybridscope::explain_model_test
