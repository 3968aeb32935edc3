#include "sessions/explain/explain_start_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace hybridscope::explain_start_up_test
