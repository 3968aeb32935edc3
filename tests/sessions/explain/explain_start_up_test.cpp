#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/model/model_presets.h"
#include "sessions/explain/explain_model.h"
#include "sessions/explain/explain_start_up.h"

namespace hybridscope::explain_start_up_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EngineSetup setup_of(const std::string& model, EngineSettings settings) {
  settings.max_num_seqs = settings.max_num_seqs.value_or(4);
  return make_engine_setup(model, settings).value();
}

TEST(ExplainStartUp, NothingIsNotedWhenNothingWasCorrected) {
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", {})), IsEmpty());
}

TEST(ExplainStartUp, SaysWhatAReleaseChose) {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(Release::v0_33_0);
  const EngineSetup setup = setup_of("tiny-mamba2", settings);
  EXPECT_THAT(start_up_notes(setup),
              ElementsAre("vllm-0.33.0 chose: runner v2, prefix caching on, mode align, retention "
                          "interval 0, asynchronous scheduling on"));
  EXPECT_THAT(explain_start_up(setup), HasSubstr("by vllm-0.33.0"));
  EXPECT_EQ(start_up_to_json(setup)["chosen_by_release"].size(), 5U);
  settings.runner = ModelRunner::v1;
  settings.prefix_cache_retention_interval = 16;
  EXPECT_THAT(start_up_notes(setup_of("tiny-mamba2", settings)),
              ElementsAre("vllm-0.33.0 chose: prefix caching on, mode align, asynchronous "
                          "scheduling on"));
}

TEST(ExplainStartUp, EachCorrectionIsOneNoteWithItsNumbers) {
  EXPECT_THAT(
      start_up_notes(setup_of(
          "minimax-text-01",
          {.num_speculative_tokens = 2, .cudagraph_mode = CUDAGraphMode::full, .policies = {}})),
      ElementsAre("cudagraph_mode FULL became FULL_AND_PIECEWISE: full graphs for any batch need "
                  "ALWAYS, the weakest metadata builder supports UNIFORM_SINGLE_TOKEN_DECODE",
                  "cudagraph_mode FULL_AND_PIECEWISE became PIECEWISE: with drafts a decode has 1 "
                  "+ K tokens a row, which needs UNIFORM_BATCH, the weakest metadata builder "
                  "supports UNIFORM_SINGLE_TOKEN_DECODE"));
}

TEST(ExplainStartUp, SizesAreNotedBeforeAndAfter) {
  EXPECT_THAT(
      start_up_notes(setup_of("tiny-gdn", {.block_size = 16,
                                           .max_num_batched_tokens = 16,
                                           .num_speculative_tokens = 2,
                                           .cudagraph_capture_sizes = {{2, 4, 8, 32}},
                                           .policies = {}})),
      ElementsAre("cudagraph_capture_sizes above max_num_batched_tokens 16 are dropped: 2, 4, 8, "
                  "32 became 2, 4, 8",
                  "cudagraph_capture_sizes became multiples of 1 + K = 3: 2, 4, 8 became 3, 6"));
  EXPECT_THAT(
      start_up_notes(setup_of("tiny-gdn", {.max_cudagraph_capture_size = 10, .policies = {}})),
      ElementsAre("max_cudagraph_capture_size 10 became 8, the largest size of the list up "
                  "to it and to max_num_batched_tokens 8192"));
}

TEST(ExplainStartUp, RoundingTheDefaultSizesIsNotNoted) {
  const EngineSetup setup = setup_of("tiny-gdn", {.num_speculative_tokens = 2, .policies = {}});
  EXPECT_THAT(start_up_notes(setup), IsEmpty());
  EXPECT_THAT(explain_start_up(setup), HasSubstr("became multiples of 1 + K = 3"));
}

TEST(ExplainStartUp, AConsumingConnectorWithoutFramesInFlightIsNoted) {
  EngineSettings settings;
  settings.kv_consumer = true;
  settings.async_scheduling = false;
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", settings)),
              ElementsAre("kv_consumer changes nothing: without a frame in flight no free has to "
                          "wait"));
}

TEST(ExplainStartUp, LongListsAreCounted) {
  CudagraphCorrection correction{.limit = 3, .after = {3, 6}};
  for (std::int32_t size = 1; size <= 20; ++size) correction.before.push_back(size);
  EXPECT_THAT(correction_words(correction), HasSubstr("1, 2, 3, .., 20 (20 sizes) became 3, 6"));
}

TEST(ExplainStartUp, NotesWhatBecameOfTheModeThatWasAskedFor) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", settings)),
              ElementsAre("tiny-gdn has no mode all: it runs in align"));
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.enable_prefix_caching = false;
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", settings)),
              ElementsAre("prefix caching is off: mode none instead of align"));
}

// 0.32.0 drafts on the device, but refuses it all the same.
TEST(ExplainStartUp, AReleaseMayScheduleNgramSynchronouslyOnRunnerV2) {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(Release::v0_32_0);
  settings.speculative_method = SpeculativeMethod::ngram;
  settings.num_speculative_tokens = 2;
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", settings)),
              Contains("asynchronous scheduling is off: vllm-0.32.0 does not have it with method "
                       "ngram"));
}

TEST(ExplainStartUp, NgramTurnsAsynchronousSchedulingOff) {
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", {.speculative_method = SpeculativeMethod::ngram,
                                                   .num_speculative_tokens = 1,
                                                   .cudagraph_mode = CUDAGraphMode::none,
                                                   .policies = {}})),
              ElementsAre("asynchronous scheduling is off: method ngram drafts on the host from "
                          "tokens that have returned"));
}

TEST(ExplainStartUp, OptimizationLevel0CompilesNoPieces) {
  EXPECT_THAT(start_up_notes(setup_of("tiny-gdn", {.optimization_level = OptimizationLevel::O0,
                                                   .cudagraph_mode = CUDAGraphMode::piecewise,
                                                   .policies = {}})),
              ElementsAre("cudagraph_mode PIECEWISE became NONE: at optimization level 0 the model "
                          "is not compiled in pieces"));
}

TEST(ExplainStartUp, TheSectionTellsRunnerAsyncModeAndSizes) {
  const std::string text = explain_start_up(
      setup_of("qwen3-next-80b-a3b", {.num_speculative_tokens = 2, .policies = {}}));
  EXPECT_THAT(text, HasSubstr("V1, the reference's default for every hybrid model"));
  EXPECT_THAT(text, HasSubstr("on, the default for drafts made on the device"));
  EXPECT_THAT(text, HasSubstr("FULL_AND_PIECEWISE; the weakest metadata builder supports "
                              "UNIFORM_BATCH"));
  EXPECT_THAT(text, HasSubstr("3, 6, 9, 18, 24 tokens"));
  EXPECT_THAT(text, HasSubstr("corrected"));
}

TEST(ExplainStartUp, TheJsonHasEachCorrectionWithItsNumbers) {
  const auto json = start_up_to_json(setup_of(
      "minimax-text-01", {.async_scheduling = false, .num_speculative_tokens = 2, .policies = {}}));
  EXPECT_EQ(json.at("runner"), "v1");
  EXPECT_EQ(json.at("async_scheduling"), false);
  EXPECT_EQ(json.at("cudagraph_mode_asked"), "FULL_AND_PIECEWISE");
  EXPECT_EQ(json.at("cudagraph_mode"), "PIECEWISE");
  EXPECT_EQ(json.at("min_cg_support"), "UNIFORM_SINGLE_TOKEN_DECODE");
  ASSERT_EQ(json.at("corrections").size(), 1U);
  EXPECT_EQ(json.at("corrections")[0].at("kind"), "drafts_need_uniform_batch");
  EXPECT_EQ(json.at("corrections")[0].at("to"), "PIECEWISE");
}

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

}  // namespace hybridscope::explain_start_up_test
