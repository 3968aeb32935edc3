#include "sessions/startup/log_comparison.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/sessions/startup/startup_cases.h"

namespace hybridscope::test::log_comparison_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Qwen3.6-27B with an FP8 cache, MTP with two drafts and prefix caching.
StartupSettings settings_of_the_log() {
  StartupSettings settings = settings_of(Release::v0_28_0, "rtx4090");
  settings.kv_cache_dtype = "fp8";
  settings.speculative_method = "mtp";
  settings.num_speculative_tokens = 2;
  settings.max_num_seqs = 8;
  settings.max_num_batched_tokens = 65536;
  return settings;
}

LogComparison compared(std::string_view text, const StartupSettings& settings) {
  return compare_log(parse_startup_log(text),
                     read_startup_model({kQwen27B, "config.json"}, {}, settings).value(), settings);
}

std::vector<std::string> rows_of(const LogComparison& comparison) {
  std::vector<std::string> rows;
  for (const LogRow& row : comparison.rows)
    rows.push_back(fmt::format("{}: {}, {}: {}", row.what, row.in_log, row.ours,
                               agreement_name(row.agreement)));
  return rows;
}

constexpr std::string_view kWhole =
    "Resolved architecture: Qwen3_5ForConditionalGeneration\nUsing max model len 262144\n"
    "Chunked prefill is enabled with max_num_batched_tokens=65536.\n"
    "Setting attention block size to 1600 tokens\n"
    "Add 3 padding layers, may waste at most 6.25% KV cache memory\n"
    "Available KV cache memory: 48.6 GiB\n"
    "GPU KV cache size: 1,394,129 tokens, Maximum concurrency for 262,144 tokens per request: "
    "5.32x\nApplication startup complete.\n";

TEST(LogComparison, EveryLineStandsBesideOurs) {
  const LogComparison comparison = compared(kWhole, settings_of_the_log());
  EXPECT_THAT(
      rows_of(comparison),
      ElementsAre(
          "architecture: Qwen3_5ForConditionalGeneration, Qwen3_5ForConditionalGeneration: agree",
          "max_model_len: 262,144, 262,144: agree", "max_num_batched_tokens: 65,536, 65,536: agree",
          "tokens of a block: 1,600, 1,600: agree",
          "padding of state pages, %: -, 0.88: not in the log",
          "padding layers: 3 (6.25 %), 3 (6.25 %): agree", "blocks: -, 936: not in the log",
          "KV tokens: 1,394,129, 1,394,129: agree", "concurrency: 5.32, 5.32: agree",
          "tokens of a request: 262,144, 262,144: agree", "start: starts, starts: agree"));
  EXPECT_EQ(comparison.differences(), 0);
}

// 22.44 GiB are 22.435 to 22.445 GiB, in which there are 468 or 469 blocks.
TEST(LogComparison, TokensAgreeIfTheRoundingOfTheMemoryAllowsTheirBlocks) {
  StartupSettings settings = settings_of(Release::v0_28_0, "rtx4090");
  settings.max_model_len = 4096;
  const LogComparison comparison = compared(
      "Available KV cache memory: 22.44 GiB\nGPU KV cache size: 160,085 tokens, Maximum "
      "concurrency for 4,096 tokens per request: 39.08x",
      settings);
  EXPECT_THAT(rows_of(comparison),
              testing::IsSupersetOf({"blocks: -, 469: not in the log",
                                     "KV tokens: 160,085, 159,744 to 160,085: agree",
                                     "concurrency: 39.08, 39.00 to 39.08: agree"}));
}

TEST(LogComparison, TokensAgreeOnlyIfAWholeNumberOfBlocksGivesThem) {
  std::string text(kWhole);
  text.replace(text.find("1,394,129"), 9, "1,394,000");
  EXPECT_EQ(compared(text, settings_of_the_log()).differences(), 2);
}

TEST(LogComparison, WithoutMemoryTheBlocksFollowFromTheTokens) {
  const LogComparison comparison = compared(
      "GPU KV cache size: 1,394,129 tokens, Maximum concurrency for 262,144 tokens per request: "
      "5.32x",
      settings_of_the_log());
  EXPECT_EQ(comparison.differences(), 0);
  EXPECT_THAT(
      comparison.notes,
      ElementsAre("the log tells no memory: 936 blocks, 48.56 GiB, give exactly its tokens"));
  EXPECT_EQ(compared("GPU KV cache size: 1,394,130 tokens", settings_of_the_log()).differences(),
            1);
}

TEST(LogComparison, ARefusalIsComparedWithItsFigures) {
  StartupSettings settings = settings_of_the_log();
  settings.max_num_seqs = 1024;
  EXPECT_THAT(rows_of(compared("Available KV cache memory: 48.6 GiB\nmax_num_seqs (1024) exceeds "
                               "available Mamba cache blocks (936).",
                               settings)),
              testing::IsSupersetOf(
                  {"blocks: 936, 936: agree",
                   "start: refused: max_num_seqs above the blocks, refused: max_num_seqs above the "
                   "blocks: agree"}));
}

TEST(LogComparison, TheLongestRequestThatFitsLiesBetweenThoseOfBothEnds) {
  StartupSettings settings = settings_of_the_log();
  settings.release = Release::v0_28_0;
  const LogComparison comparison = compared(
      "To serve at least one request with the model's max seq len (262144), (9.13 GiB KV "
      "cache is needed, which is larger than the available KV cache memory (3.0 GiB). Based "
      "on the available memory, the estimated maximum model length is 72000. Try",
      settings);
  EXPECT_EQ(comparison.differences(), 0) << fmt::format("{}", fmt::join(rows_of(comparison), "\n"));
}

// From 0.33.0 on an H100 has checkpoint blocks, which an RTX 4090 has not: 5.23 and not 5.32.
TEST(LogComparison, AGpuThatIsNotToldIsOneWithWhichMostLinesAgree) {
  StartupSettings settings = settings_of_the_log();
  settings.release = Release::v0_33_0;
  settings.gpu = nullptr;
  constexpr std::string_view kH100 =
      "Available KV cache memory: 48.6 GiB\nGPU KV cache size: 1,370,764 tokens, Maximum "
      "concurrency for 262,144 tokens per request: 5.23x";
  const LogComparison comparison = compared(kH100, settings);
  EXPECT_EQ(comparison.gpu->name, "h100");
  EXPECT_EQ(comparison.differences(), 0);
  EXPECT_THAT(comparison.notes.back(),
              HasSubstr("the log names no GPU: planned as on h100; as many lines agree on h200"));
  ;
}

}  // namespace
}  // namespace hybridscope::test::log_comparison_test
