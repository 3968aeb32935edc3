// The engine starts with what the release plans.
#include "sessions/scenario/start_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/startup/known_models.h"

namespace hybridscope::start_plan_test {
namespace {

using testing::HasSubstr;

constexpr Release kReleases[] = {Release::v0_24_0, Release::v0_26_0, Release::v0_28_0,
                                 Release::v0_30_0, Release::v0_32_0, Release::v0_33_0};

EngineSettings settings_of_release(Release release, const char* gpu = "h100") {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(release);
  settings.gpu = static_cast<GpuChoice>(find_gpu(gpu) - kGpus.data());
  settings.kv_cache_memory_bytes = std::int64_t{40} << 30;
  settings.max_num_seqs = 16;
  return settings;
}

StartPlan planned(const char* model, const EngineSettings& settings) {
  return plan_start(resolve_model(model).value(), settings).value();
}

// Every known model, six releases, two GPUs, with and without drafts, caching on: either the engine
// has as many blocks as the plan, and counts as many for a request, or it says why it has no run.
TEST(StartPlan, TheEngineHasTheBlocksOfThePlan) {
  std::map<std::string, int> counts;
  for (const KnownModel& known : known_models()) {
    const ModelSpec model = resolve_model(known.names.front()).value();
    for (const Release release : kReleases)
      for (const char* gpu : {"h100", "a100"})
        for (const int drafts : {0, 3}) {
          EngineSettings settings = settings_of_release(release, gpu);
          settings.enable_prefix_caching = true;
          if (drafts > 0) settings.num_speculative_tokens = drafts;
          const auto start = plan_start(model, settings);
          const auto setup = make_engine_setup(model, settings);
          const std::string where = known.names.front() + " " + std::string(release_name(release));
          if (!start.ok() || start.value().plan.refused_at != RefusalStage::none) {
            ++counts["refused"];
            continue;
          }
          if (!setup.ok()) {
            EXPECT_EQ(setup.error().kind, ErrorKind::not_available)
                << where << ": " << setup.error().message;
            ++counts["only planned"];
            continue;
          }
          ++counts["run"];
          const StartupPlan& plan = start.value().plan;
          EXPECT_EQ(setup.value().config.kv_cache_config.num_blocks, plan.num_blocks) << where;
          EXPECT_EQ(blocks_reserved(setup.value().layout, plan.config.max_model_len),
                    plan.blocks_per_request)
              << where << " " << gpu << " " << drafts;
        }
  }
  EXPECT_EQ(counts["run"], 1138);
  EXPECT_EQ(counts["only planned"], 208);
  EXPECT_EQ(counts["refused"], 958);
}

// vLLM transformers_utils/model_arch_config_convertor.py: the layer of MTP is one more of full
// attention, and 17 of them do not go into groups of 16.
TEST(StartPlan, TheDraftLayerOfMtpIsInTheGroupOfAttention) {
  EngineSettings settings = settings_of_release(Release::v0_33_0);
  settings.num_speculative_tokens = 2;
  const auto setup = make_engine_setup(resolve_model("Qwen/Qwen3.5-27B").value(), settings).value();
  const auto& groups = setup.layout.kv_cache_config.groups;
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].layers.size(), 17U);
  EXPECT_EQ(groups[1].layers.size(), 16U);
  EXPECT_EQ(setup.layout.page_size.layer_groups.num_padding_layers, 3);
}

// vLLM 0.33.0, gdn_prefill_backend of an H100: blocks are multiples of 64.
TEST(StartPlan, TheGpuDecidesTheBlocksOfGatedDeltaNetFrom0330On) {
  const auto block_size = [](Release release, const char* gpu) {
    return make_engine_setup(resolve_model("Qwen/Qwen3.5-27B").value(),
                             settings_of_release(release, gpu))
        .value()
        .config.block_size;
  };
  EXPECT_EQ(block_size(Release::v0_32_0, "h100"), 784);
  EXPECT_EQ(block_size(Release::v0_33_0, "h100"), 832);
  EXPECT_EQ(block_size(Release::v0_33_0, "a100"), 784);
}

TEST(StartPlan, WhereNothingIsSetTheReleaseChoosesByGpuAndEntryPoint) {
  EngineSettings settings = settings_of_release(Release::v0_33_0);
  settings.max_num_seqs.reset();
  EXPECT_EQ(planned("Qwen/Qwen3.5-9B", settings).plan.config.max_num_seqs, 1024);
  settings.entry_point = EntryPoint::llm;
  EXPECT_EQ(planned("Qwen/Qwen3.5-9B", settings).plan.config.max_num_batched_tokens, 16384);
}

// From 0.27.1 on a block may be wider than a step (vLLM config/vllm.py, validate_block_size).
TEST(StartPlan, ABlockWiderThanAStepIsRefusedBefore0271Only) {
  const auto start = [](Release release) {
    EngineSettings settings = settings_of_release(release);
    settings.kv_cache_dtype = KVCacheDtype::fp8;
    settings.enable_prefix_caching = true;
    settings.max_num_batched_tokens = 512;
    return make_engine_setup(resolve_model("Qwen/Qwen3.5-27B").value(), settings);
  };
  EXPECT_THAT(start(Release::v0_26_0).error().message,
              HasSubstr("block_size (1568) must be <= max_num_batched_tokens (512)"));
  EXPECT_TRUE(start(Release::v0_28_0).ok());
}

TEST(StartPlan, PresetsOfArchitecturesThatAReleaseHasLeftAreRefusedInItsWords) {
  EngineSettings settings = settings_of_release(Release::v0_24_0);
  for (const char* model : {"bamba-9b", "minimax-text-01"})
    EXPECT_THAT(make_engine_setup(resolve_model(model).value(), settings).error().message,
                HasSubstr("was supported in vLLM until v0.23.0, and is not supported anymore"));
  EXPECT_TRUE(make_engine_setup("bamba-9b", {}).ok());
}

TEST(StartPlan, AModelWithoutRecurrentLayersIsPlannedAndNotRun) {
  const ModelSpec model = resolve_model("openai/gpt-oss-20b").value();
  EXPECT_GT(planned("openai/gpt-oss-20b", settings_of_release(Release::v0_33_0)).plan.kv_tokens, 0);
  EXPECT_EQ(make_engine_setup(model, {}).error().message,
            "openai/gpt-oss-20b is planned and not run: layer 0 attends to a window of tokens");
}

}  // namespace
}  // namespace hybridscope::start_plan_test
