#include "sessions/startup/startup_plan.h"

#include <gmock/gmock.h>

#include "tests/sessions/startup/startup_cases.h"

namespace hybridscope::test::startup_plan_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

StartupSettings settings_of_the_log(Release release, const char* gpu) {
  StartupSettings settings = settings_of(release, gpu);
  settings.kv_cache_memory_bytes = 52183852646;
  settings.kv_cache_dtype = "fp8";
  settings.speculative_method = "mtp";
  settings.num_speculative_tokens = 2;
  settings.max_num_seqs = 8;
  settings.max_num_batched_tokens = 65536;
  return settings;
}

// A public log: Qwen3.6-27B, FP8 cache, MTP with two drafts, 48.6 GiB.
TEST(StartupPlan, OfAPublicLogWithMtpHasItsDigits) {
  const StartupPlan plan = plan_of(kQwen27B, settings_of_the_log(Release::v0_28_0, "rtx4090"));
  EXPECT_EQ(plan.refused_at, RefusalStage::none) << plan.refusal;
  EXPECT_EQ(plan.layers.block_size, 1600);
  EXPECT_EQ(plan.num_blocks, 936);
  EXPECT_EQ(plan.groups.groups.size(), 4u);
  // The MTP layer is one of 17 in the group of attention; 48 layers with states fill 3 groups of 17
  // but for 3 places.
  EXPECT_EQ(plan.groups.groups.back().layers.size(), 17u);
  EXPECT_THAT(plan.lines,
              Contains("Add 3 padding layers, may waste at most 6.25% KV cache memory"));
  EXPECT_EQ(plan.lines.back(),
            "GPU KV cache size: 1,394,129 tokens, Maximum concurrency for 262,144 tokens per "
            "request: 5.32x");
}

// The same start where FlashInfer's prefill stores states inside chunks: blocks are multiples of
// 64 tokens, and each group of states has one more.
TEST(StartupPlan, CountsTheCheckpointBlocksOfFlashInfersPrefill) {
  StartupSettings settings = settings_of_the_log(Release::v0_33_0, "h100");
  const StartupPlan plan = plan_of(kQwen27B, settings);
  EXPECT_EQ(plan.layers.block_size, 1600);
  EXPECT_EQ(plan.kv_tokens, 1370764);
  EXPECT_THAT(plan.lines.back(), HasSubstr("5.23x"));
  settings.gpu = find_gpu("rtx4090");
  EXPECT_EQ(plan_of(kQwen27B, settings).kv_tokens, 1394129);
}

TEST(StartupPlan, BlocksOfGatedDeltaNetAreMultiplesOf64OnlyOnAGpuWithTheKernel) {
  StartupSettings settings = settings_of(Release::v0_33_0, "h100");
  settings.kv_cache_memory_bytes = std::int64_t{40} << 30;
  EXPECT_EQ(plan_of(kQwen27B, settings).layers.block_size, 832);
  settings.gpu = find_gpu("a100");
  EXPECT_EQ(plan_of(kQwen27B, settings).layers.block_size, 784);
  settings.gpu = find_gpu("h100");
  settings.release = Release::v0_32_0;
  EXPECT_EQ(plan_of(kQwen27B, settings).layers.block_size, 784);
}

TEST(StartupPlan, RefusesMoreSequencesThanBlocksUnlessNoDecodeIsCaptured) {
  StartupSettings settings = settings_of(Release::v0_33_0, "h100");
  settings.kv_cache_memory_bytes = std::int64_t{24} << 30;
  settings.max_model_len = 4096;
  const StartupPlan plan = plan_of(kQwen27B, settings);
  EXPECT_EQ(plan.config.max_num_seqs, 1024);
  EXPECT_EQ(plan.refused_at, RefusalStage::graphs);
  EXPECT_EQ(plan.num_blocks, 472);
  EXPECT_EQ(plan.refusal,
            "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (472). Each "
            "decode sequence requires one Mamba cache block, so CUDA graph capture cannot proceed. "
            "Please lower max_num_seqs to at most 472 or increase gpu_memory_utilization.");
  settings.enforce_eager = true;
  EXPECT_EQ(plan_of(kQwen27B, settings).refused_at, RefusalStage::none);
  settings.enforce_eager = false;
  settings.cudagraph_mode = "PIECEWISE";
  EXPECT_EQ(plan_of(kQwen27B, settings).refused_at, RefusalStage::none);
}

// From 0.29.0 on the null block is not memory that a request can have.
TEST(StartupPlan, RefusesWhatDoesNotHoldOneRequestAndSaysWhichLengthItHolds) {
  StartupSettings settings = settings_of(Release::v0_28_0, "a100");
  settings.kv_cache_memory_bytes = std::int64_t{8} << 30;
  const StartupPlan older = plan_of(kQwen27B, settings);
  EXPECT_EQ(older.refused_at, RefusalStage::memory);
  EXPECT_THAT(older.refusal,
              StartsWith("ValueError: To serve at least one request with the model's max seq len "
                         "(262144), (16.32 GiB KV cache is needed, which is larger than the "
                         "available KV cache memory (8.0 GiB). Based on the available memory, the "
                         "estimated maximum model length is 126224. Try increasing"));
  settings.release = Release::v0_29_0;
  EXPECT_THAT(plan_of(kQwen27B, settings).refusal, HasSubstr("memory (7.95 GiB)"));
}

TEST(StartupPlan, WithLengthMinusOneTakesTheLongestThatFits) {
  StartupSettings settings = settings_of(Release::v0_33_0, "a100");
  settings.kv_cache_memory_bytes = std::int64_t{8} << 30;
  settings.max_model_len = -1;
  settings.max_num_seqs = 64;
  const StartupPlan plan = plan_of(kQwen27B, settings);
  EXPECT_EQ(plan.refused_at, RefusalStage::none) << plan.refusal;
  EXPECT_THAT(plan.lines, Contains(StartsWith("Auto-fit max_model_len: reduced from 262144 to ")));
}

// Only 0.24.0 to 0.26.0 assert it.
TEST(StartupPlan, AWideBlockOfModeAlignStartsFromRelease27On) {
  StartupSettings settings = settings_of(Release::v0_26_0, "l40s");
  settings.kv_cache_memory_bytes = std::int64_t{30} << 30;
  settings.kv_cache_dtype = "fp8";
  settings.enable_prefix_caching = true;
  settings.block_size = 2064;
  settings.max_model_len = 8192;
  const StartupPlan older = plan_of(kQwen27B, settings);
  EXPECT_EQ(older.refusal,
            "AssertionError: In Mamba cache align mode, block_size (2064) must be <= "
            "max_num_batched_tokens (2048).");
  EXPECT_EQ(older.lines.back(), "Maximum concurrency for 8,192 tokens per request: 47.60x");
  settings.release = Release::v0_27_1;
  EXPECT_EQ(plan_of(kQwen27B, settings).refused_at, RefusalStage::none);
}

TEST(StartupPlan, BatchDefaultsFollowReleaseGpuAndEntryPoint) {
  const auto defaults = [](Release release, const char* gpu, EntryPoint entry_point) {
    const BatchDefaults found = batch_defaults(release, *find_gpu(gpu), entry_point);
    return std::pair(found.max_num_seqs, found.max_num_batched_tokens);
  };
  const EntryPoint serve = EntryPoint::serve;
  EXPECT_EQ(defaults(Release::v0_24_0, "h100", serve), std::pair(1024L, 8192L));
  EXPECT_EQ(defaults(Release::v0_24_0, "h100", EntryPoint::llm), std::pair(1024L, 16384L));
  EXPECT_EQ(defaults(Release::v0_24_0, "b200", serve), std::pair(1024L, 8192L));
  EXPECT_EQ(defaults(Release::v0_28_0, "b200", serve), std::pair(1024L, 16384L));
  EXPECT_EQ(defaults(Release::v0_33_0, "a100", serve), std::pair(256L, 2048L));
  EXPECT_EQ(defaults(Release::v0_32_0, "gb10", serve), std::pair(1024L, 8192L));
  EXPECT_EQ(defaults(Release::v0_33_0, "gb10", serve), std::pair(256L, 2048L));
  EXPECT_EQ(find_gpu("h1000"), nullptr);
}

TEST(StartupPlan, EveryGpuIsNamedOnce) {
  for (const Gpu& gpu : kGpus) EXPECT_EQ(find_gpu(gpu.name), &gpu);
}

}  // namespace
}  // namespace hybridscope::test::startup_plan_test
