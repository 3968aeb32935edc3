// Sizes that people read in the start-up logs of their engines and published.
#include <gmock/gmock.h>

#include <string>

#include "core/model/page_size.h"
#include "sessions/plan/size_answer.h"
#include "sessions/plan/startup_log.h"
#include "sessions/scenario/settings_table.h"
#include "tests/sessions/plan/published_models.h"

namespace hybridscope::published_sizes_test {
namespace {

using test::glm53_flash;
using test::kQwen35_4B;
using test::kQwen36_27B;
using test::kQwen36_35B;
using test::qwen35;

struct Flag {
  const char* section = "";
  const char* name;
  const char* value;
};

EngineSettings settings_with(std::initializer_list<Flag> flags) {
  EngineSettings settings;
  for (const Flag& flag : flags)
    EXPECT_TRUE(set_setting_text(settings, *find_setting(flag.section, flag.name), flag.value).ok())
        << flag.name;
  return settings;
}

BlockSizeChoice block_of(const ModelSpec& model, std::initializer_list<Flag> flags) {
  const auto setup = make_engine_setup(model, settings_with(flags));
  return setup.value().layout.page_size.choice;
}

// github.com/vllm-project/vllm/issues/40696: vLLM 0.19.1, vllm serve Qwen/Qwen3.5-4B
// --enable-prefix-caching --max-model-len 1024 --dtype bfloat16.
TEST(PublishedSizes, Qwen35With4BillionHasBlocksOf528Tokens) {
  const BlockSizeChoice choice =
      block_of(qwen35(kQwen35_4B), {{.name = "max_model_len", .value = "1024"}});
  EXPECT_EQ(choice.block_size, 528);
  EXPECT_EQ(choice.mamba_page, 2'146'304);
}

// docs.lmcache.ai/recipes/qwen3_5.html: vllm serve Qwen/Qwen3.6-27B --enable-prefix-caching
// --mamba-cache-mode align, one GPU.
TEST(PublishedSizes, Qwen36With27BillionHasBlocksOf784Tokens) {
  EXPECT_EQ(
      block_of(qwen35(kQwen36_27B), {{.name = "mamba_cache_mode", .value = "align"}}).block_size,
      784);
}

// The same layers (Qwen3.8-27B) with fp8 keys and values, tensor parallel size 2 and three drafts
// of method mtp: a state of 1,634,304 bytes, "Padding mamba page size by 0.25%", as in many
// published logs of vLLM 0.27 and 0.28.
TEST(PublishedSizes, WithFp8AndThreeDraftsIts27BillionHaveBlocksOf1600Tokens) {
  const BlockSizeChoice choice =
      block_of(qwen35(kQwen36_27B),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "3"}});
  EXPECT_EQ(choice.mamba_page, 1'634'304);
  EXPECT_EQ(choice.block_size, 1600);
  EXPECT_NEAR(padding_waste_percent(choice), 0.25, 0.005);
}

// A published capacity sheet of nvidia/Qwen3.6-35B-A3B-NVFP4 (vLLM 0.28.1rc1): --kv-cache-dtype fp8
// --tensor-parallel-size 2 --no-enable-prefix-caching --kv-cache-memory-bytes 8589934592
// --max-model-len 1000000: blocks of 2,096 tokens, 800 of them, 1,663,201 tokens, 1.66 at once.
TEST(PublishedSizes, Qwen36With35BillionHas800BlocksOf2096Tokens) {
  const EngineSettings settings =
      settings_with({{.name = "kv_cache_dtype", .value = "fp8"},
                     {.name = "tensor_parallel_size", .value = "2"},
                     {.name = "enable_prefix_caching", .value = "false"},
                     {.name = "kv_cache_memory_bytes", .value = "8589934592"},
                     {.name = "max_model_len", .value = "1000000"}});
  const RequestShape shape{.prompt = 32000, .output = 768};
  const SizeAnswer answer = answer_sizes(qwen35(kQwen36_35B), settings, shape).value();
  EXPECT_EQ(answer.setup.layout.page_size.choice.block_size, 2096);
  EXPECT_EQ(answer.setup.layout.page_size.choice.padding, 0);
  EXPECT_EQ(answer.setup.config.kv_cache_config.num_blocks, 800);
  EXPECT_EQ(blocks_reserved(answer.setup.layout, answer.setup.layout.max_model_len), 481);
  EXPECT_EQ(answer.at_once.front().held.most.own, 19);
  EXPECT_EQ(answer.at_once.front().by_blocks, 42);
  EXPECT_EQ(start_up_log(answer.setup, Release::v0_28_0).back(),
            "GPU KV cache size: 1,663,201 tokens, Maximum concurrency for 1,000,000 tokens per "
            "request: 1.66x");
}

// github.com/vllm-project/vllm/pull/53906 (comment of 2026-08-29): GLM-5.3-Flash on two H200,
// tensor parallel size 2, three drafts of method mtp: hashes of 2,304 tokens.
TEST(PublishedSizes, Glm53FlashWithThreeDraftsHasBlocksOf2304Tokens) {
  const BlockSizeChoice choice =
      block_of(glm53_flash(),
               {{.name = "engine", .value = "vllm-0.30.0"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "3"}});
  EXPECT_EQ(choice.mamba_page, 2'244'608);
  EXPECT_EQ(choice.block_size, 2304);
}

// github.com/LMCache/LMCache/pull/5042 (comment of 2026-09-10): GLM-5.3-Flash on four GPUs, 1,152
// tokens a block and 11 layers in a group; up to 7 drafts would give the same.
TEST(PublishedSizes, Glm53FlashOnFourGpusHasBlocksOf1152Tokens) {
  const auto setup = make_engine_setup(
      glm53_flash(), settings_with({{.name = "tensor_parallel_size", .value = "4"}}));
  EXPECT_EQ(setup.value().layout.page_size.choice.block_size, 1152);
  EXPECT_EQ(setup.value().layout.page_size.layer_groups.group_size, 11);
}

// github.com/local-inference-lab/vllm/pull/488 (comment of 2026-08-28): GLM-5.3-Flash on four RTX
// PRO 6000, fp8 records of 528 bytes (local-inference-lab/b12x, pull 266), seven drafts of DFlash2:
// of a prompt of 10,355 tokens a second request finds 6,912, three blocks.
TEST(PublishedSizes, Glm53FlashWithFp8RecordsAndSevenDraftsHasBlocksOf2304TokensOnFourGpus) {
  const BlockSizeChoice choice =
      block_of(glm53_flash({.latent_values = 528}),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "4"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "7"}});
  EXPECT_EQ(choice.mamba_page, 1'171'456);
  EXPECT_EQ(choice.block_size, 6912 / 3);
}

// github.com/vllm-project/vllm/issues/54458 (2026-08-30): GLM-5.3-Flash on two RTX PRO 6000 with a
// DFlash drafter, tensor parallel size 2: "Setting attention block size to 7808 tokens". It does
// not say how the cache is kept or how many drafts there are. The 4-bit records that the engine of
// these cards has for this model (nvfp4_ds_mla, local-inference-lab/vllm, pull 549) have 304 bytes,
// and with the seven drafts of DFlash2 they give its 7,808 tokens; vLLM itself has no such dtype
// for the model, so that a record of as many bytes stands for it.
TEST(PublishedSizes, Glm53FlashWith4BitRecordsAndSevenDraftsHasBlocksOf7808Tokens) {
  const BlockSizeChoice choice =
      block_of(glm53_flash({.latent_values = 304}),
               {{.name = "kv_cache_dtype", .value = "fp8"},
                {.name = "tensor_parallel_size", .value = "2"},
                {.section = "speculative_config", .name = "num_speculative_tokens", .value = "7"}});
  EXPECT_EQ(choice.mamba_page, 2'342'912);
  EXPECT_EQ(choice.block_size, 7808);
}

// github.com/kaito-project/kaito/issues/2319: Qwen3.6-27B on an H100, vLLM 0.25.1, "max_num_seqs
// (1024) exceeds available Mamba cache blocks (614)". A block of 784 tokens has 51,380,224 bytes in
// 16 layers, so 29.4 GiB were left for blocks.
TEST(PublishedSizes, Qwen36With27BillionHas614StateBlocksFor1024Sequences) {
  const EngineSettings settings =
      settings_with({{.name = "engine", .value = "vllm-0.25.1"},
                     {.name = "kv_cache_memory_bytes", .value = "29.4GiB"},
                     {.name = "max_num_seqs", .value = "1024"}});
  const RequestShape shape{.prompt = 1000, .output = 100};
  const SizeAnswer answer = answer_sizes(qwen35(kQwen36_27B), settings, shape).value();
  EXPECT_EQ(answer.block_bytes, 51'380'224);
  EXPECT_EQ(answer.setup.config.kv_cache_config.num_blocks, 614);
  EXPECT_EQ(answer.refused_max_num_seqs, 1024);
}

}  // namespace
}  // namespace hybridscope::published_sizes_test
