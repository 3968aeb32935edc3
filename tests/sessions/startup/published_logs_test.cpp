// Figures of start-up logs that people published, beside what is planned.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sessions/startup/known_models.h"
#include "sessions/startup/log_comparison.h"
#include "tests/sessions/startup/startup_cases.h"

namespace hybridscope::test::published_logs_test {
namespace {

struct PublishedLog {
  const char* name;
  const char* model;
  const char* version;
  const char* lines;  // of the log
  StartupSettings flags = {};
  const char* differing = "";  // rows that do not agree, and why below
};

void PrintTo(const PublishedLog& log, std::ostream* out) { *out << log.name; }

std::string rows_text(const LogComparison& comparison) {
  std::string text;
  for (const LogRow& row : comparison.rows)
    text += fmt::format("{} | {} | {} | {}\n", row.what, row.in_log, row.ours,
                        agreement_name(row.agreement));
  return text + fmt::format("{}", fmt::join(comparison.notes, "\n"));
}

class PublishedLogs : public testing::TestWithParam<PublishedLog> {};

TEST_P(PublishedLogs, AgreeWithThePlan) {
  const PublishedLog& published = GetParam();
  StartupSettings settings = published.flags;
  settings.release = nearest_release(published.version);
  settings.gpu = nullptr;
  const StartupModel model =
      read_startup_model({find_known_model(published.model)->config, "config.json"}, {}, settings)
          .value();
  const LogComparison compared = compare_log(parse_startup_log(published.lines), model, settings);
  std::string differing;
  for (const LogRow& row : compared.rows)
    if (row.agreement == Agreement::differs)
      differing += (differing.empty() ? "" : ", ") + row.what;
  EXPECT_EQ(differing, published.differing) << rows_text(compared);
}

const PublishedLog kPublished[] = {
    {"Qwen3.5-0.8B", "Qwen/Qwen3.5-0.8B", "0.28.0",
     "Available KV cache memory: 67.08 GiB\nSetting attention block size to 544 tokens\n"
     "Padding mamba page size by 2.64%\nGPU KV cache size: 5,788,118 tokens, Maximum concurrency "
     "for 262,144 tokens per request: 22.08x"},
    {"Qwen3.8-27B", "Qwen/Qwen3.8-27B", "0.28.0",
     "Available KV cache memory: 18.61 GiB\nSetting attention block size to 784 tokens\n"
     "Padding mamba page size by 0.13%\nGPU KV cache size: 298,275 tokens, Maximum concurrency for "
     "262,144 tokens per request: 1.14x"},
    {"Qwen3.6-35B-A3B with an FP8 cache",
     "Qwen/Qwen3.6-35B-A3B",
     "0.24.0",
     "Available KV cache memory: 5.98 GiB\nGPU KV cache size: 567,978 tokens\nMaximum concurrency "
     "for 131,072 tokens per request: 4.33x",
     {.kv_cache_dtype = "fp8",
      .enable_prefix_caching = true,
      .max_model_len = 131072,
      .max_num_seqs = 1,
      .max_num_batched_tokens = 8192}},
    {"Qwen3.5-4B of 0.22.0",
     "Qwen/Qwen3.5-4B",
     "0.22.0",
     "Available KV cache memory: 12.85 GiB\nSetting attention block size to 528 tokens\n"
     "Padding mamba page size by 0.76%\nGPU KV cache size: 163,225 tokens\nMaximum concurrency for "
     "1,024 tokens per request: 159.40x",
     {.enable_prefix_caching = false, .max_model_len = 1024, .max_num_batched_tokens = 2048}},
    // 0.20 counted tokens by another rule: those of 16 blocks of 2,096, whatever a request takes.
    {"Qwen3.5-35B-A3B of 0.20",
     "Qwen/Qwen3.5-35B-A3B",
     "0.20.2",
     "Available KV cache memory: 1.28 GiB\nSetting attention block size to 2096 tokens\nGPU KV "
     "cache size: 33,536 tokens\nMaximum concurrency for 65,536 tokens per request: 1.68x",
     {.kv_cache_dtype = "fp8", .max_model_len = 65536, .max_num_seqs = 1},
     "KV tokens, concurrency"},
    {"Qwen3.8-27B-FP8 with 4,096 tokens",
     "Qwen/Qwen3.8-27B-FP8",
     "0.28.0",
     "non-default args: {'model': 'Qwen/Qwen3.8-27B-FP8', 'kv_cache_memory_bytes': 24098000000}\n"
     "GPU KV cache size: 160,085 tokens, Maximum concurrency for 4,096 tokens per request: 39.08x",
     {.max_model_len = 4096, .max_num_seqs = 4}},
    {"Qwen3.8-27B on two GPUs",
     "Qwen/Qwen3.8-27B",
     "0.23.1",
     "Available KV cache memory: 3.86 GiB\nGPU KV cache size: 123,399 tokens\n"
     "num_gpu_blocks is: 161",
     {.tensor_parallel_size = 2, .enable_prefix_caching = false, .max_model_len = 122633}},
    {"Qwen3.8-27B with three drafts",
     "Qwen/Qwen3.8-27B",
     "0.24.0",
     "Setting attention block size to 1600 tokens\nGPU KV cache size: 1,472,468 tokens\nMaximum "
     "concurrency for 131,072 tokens per request: 11.23x",
     {.kv_cache_dtype = "fp8",
      .enable_prefix_caching = false,
      .max_model_len = 131072,
      .speculative_method = "mtp",
      .num_speculative_tokens = 3}},
    {"Qwen3.8-27B with three drafts and prefix caching",
     "Qwen/Qwen3.8-27B",
     "0.24.0",
     "Add 3 padding layers, may waste at most 6.25% KV cache memory\nGPU KV cache size: 1,426,928 "
     "tokens\nMaximum concurrency for 131,072 tokens per request: 10.89x",
     {.kv_cache_dtype = "fp8",
      .enable_prefix_caching = true,
      .max_model_len = 131072,
      .speculative_method = "mtp",
      .num_speculative_tokens = 3}},
    {"Nemotron-Cascade-2-30B of 0.19.0",
     "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
     "0.19.0",
     "Setting attention block size to 4176 tokens\nPadding mamba page size by 0.19%",
     {.kv_cache_dtype = "fp8", .mamba_ssm_cache_dtype = "float32", .max_model_len = 131072}},
    {"Qwen3.8-27B with seven drafts",
     "Qwen/Qwen3.8-27B",
     "0.28.0",
     "Setting attention block size to 832 tokens\nPadding mamba page size by 1.71%",
     {.max_model_len = 4096,
      .max_num_seqs = 4,
      .speculative_method = "mtp",
      .num_speculative_tokens = 7}},
    {"Qwen3.8-27B with --block-size 816",
     "Qwen/Qwen3.8-27B",
     "0.28.0",
     "Setting attention block size to 1632 tokens\nPadding mamba page size by 99.51%",
     {.block_size = 816,
      .max_model_len = 4096,
      .max_num_seqs = 4,
      .speculative_method = "mtp",
      .num_speculative_tokens = 7}},
    {"Qwen3.8-27B with states in float16",
     "Qwen/Qwen3.8-27B",
     "0.28.0",
     "Setting attention block size to 480 tokens\nPadding mamba page size by 1.27%",
     {.mamba_ssm_cache_dtype = "float16",
      .speculative_method = "mtp",
      .num_speculative_tokens = 15}},
    {"Qwen3.5-35B-A3B", "Qwen/Qwen3.5-35B-A3B", "",
     "Setting attention block size to 1056 tokens\nPadding mamba page size by 0.76%"},
    {"Qwen3-Next on two GPUs",
     "Qwen/Qwen3-Next-80B-A3B-Instruct",
     "",
     "Setting attention block size to 544 tokens",
     {.tensor_parallel_size = 2}},
    // The CPU's attention has kernel blocks of 128 tokens; no GPU that is known has.
    {"Qwen3.5-0.8B on a CPU",
     "Qwen/Qwen3.5-0.8B",
     "0.29.0",
     "reserved 1.0 GiB memory for KV Cache\nSetting attention block size to 640 tokens\nPadding "
     "mamba page size by 20.75%\nGPU KV cache size: 27,852 tokens, Maximum concurrency for 2,048 "
     "tokens per request: 13.60x",
     {.max_model_len = 2048},
     "tokens of a block, padding of state pages, %, KV tokens, concurrency"},
    {"Qwen3.5-0.8B on a CPU, as blocks of 128",
     "Qwen/Qwen3.5-0.8B",
     "0.29.0",
     "non-default args: {'model': 'm', 'kv_cache_memory_bytes': 1073741824}\nSetting attention "
     "block size to 640 tokens\nPadding mamba page size by 20.75%\nGPU KV cache size: 27,852 "
     "tokens, Maximum concurrency for 2,048 tokens per request: 13.60x",
     {.block_size = 128, .max_model_len = 2048}},
    {"Qwen3.6-27B-NVFP4 with two drafts",
     "Qwen/Qwen3.6-27B-NVFP4",
     "0.23.1rc1",
     "Available KV cache memory: 48.6 GiB\nSetting attention block size to 1600 tokens\nAdd 3 "
     "padding layers, may waste at most 6.25% KV cache memory\nGPU KV cache size: 1,394,129 "
     "tokens\nMaximum concurrency for 262,144 tokens per request: 5.32x",
     {.kv_cache_dtype = "fp8",
      .enable_prefix_caching = true,
      .max_model_len = 262144,
      .max_num_seqs = 8,
      .max_num_batched_tokens = 65536,
      .speculative_method = "mtp",
      .num_speculative_tokens = 2}},
    {"Kimi-K3 on sixteen GPUs",
     "moonshotai/Kimi-K3",
     "0.27.1",
     "Available KV cache memory: 0.82 GiB\nSetting attention block size to 384 tokens\nPadding "
     "mamba page size by 8.68%\nGPU KV cache size: 30,062 tokens, Maximum concurrency for 29,696 "
     "tokens per request: 1.01x",
     {.tensor_parallel_size = 16, .enable_prefix_caching = false, .max_model_len = 29696}},
};

INSTANTIATE_TEST_SUITE_P(All, PublishedLogs, testing::ValuesIn(kPublished));

}  // namespace
}  // namespace hybridscope::test::published_logs_test
