#include "sessions/export/vllm_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::vllm_flags_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

VllmFlags flags_of(const std::string& settings) {
  const std::string text = R"({"version": 1, "model": "tiny-mamba2", "settings": {)" + settings +
                           R"(}, "requests": [{"id": "A", "prompt": 6}]})";
  const auto scenario = parse_scenario({.text = text, .file = "s.json"});
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return vllm_flags(make_exported_run(scenario.value(), "s.json").value());
}

TEST(VllmFlags, WhatTheEngineStartedWithIsThereEvenIfNobodySetIt) {
  const VllmFlags flags =
      flags_of(R"("mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                  "max_model_len": 64)");
  EXPECT_THAT(flags.flags, ElementsAre("--mamba-cache-mode align", "--block-size 8",
                                       "--num-gpu-blocks-override 32", "--max-model-len 64",
                                       "--max-num-seqs 32", "--max-num-batched-tokens 8192",
                                       "--enable-prefix-caching", "--async-scheduling"));
  EXPECT_THAT(flags.variables, IsEmpty());
  EXPECT_THAT(flags.others, IsEmpty());
}

TEST(VllmFlags, AreWrittenForAShell) {
  const VllmFlags flags = flags_of(
      R"("num_gpu_blocks_override": 32, "async_scheduling": false, "enable_chunked_prefill": true,
         "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
         "cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": [3, 6])");
  for (const char* flag : {"--no-async-scheduling", "--enable-chunked-prefill",
                           R"(--speculative-config '{"method":"mtp","num_speculative_tokens":2}')",
                           R"(--compilation-config '{"cudagraph_mode":"FULL_DECODE_ONLY"}')",
                           "--cudagraph-capture-sizes 3 6"})
    EXPECT_THAT(flags.flags, Contains(flag));
}

TEST(VllmFlags, WhatVllmTakesAsAVariableOrNotAtAllIsKeptApart) {
  const VllmFlags flags = flags_of(
      R"("num_gpu_blocks_override": 32, "runner": "v2", "ssm_conv_state_layout": "DS", "seed": 7,
         "policies": {"no_draft_step": "column_zero"})");
  EXPECT_THAT(flags.variables,
              ElementsAre("VLLM_SSM_CONV_STATE_LAYOUT=DS", "VLLM_USE_V2_MODEL_RUNNER=1"));
  EXPECT_THAT(flags.others, ElementsAre("seed 7", R"(policies {"no_draft_step":"column_zero"})"));
}

}  // namespace
}  // namespace hybridscope::vllm_flags_test
