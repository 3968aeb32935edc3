#include "sessions/plan/serve_line.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <string>

#include "tests/support/property.h"

namespace hybridscope::serve_line_test {
namespace {

using test::draw;
using test::one_in;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ServeLine parsed(const std::string& text) {
  auto line = ServeLine::parse(text);
  if (!line.ok()) ADD_FAILURE() << text << ": " << line.error().message;
  return line.value();
}

std::string error_of(const std::string& text) {
  const auto line = ServeLine::parse(text);
  return line.ok() ? "no error" : line.error().message;
}

TEST(ServeLine, ReadsModelAndFlagsInTheirSpellings) {
  const ServeLine line = parsed(
      "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --max_num_seqs=128 \\\n"
      "  --max-model-len 32k --no-enable-prefix-caching --kv-cache-dtype fp8");
  EXPECT_EQ(line.model(), "Qwen/Qwen3-Next-80B-A3B-Instruct");
  EXPECT_EQ(line.settings().tensor_parallel_size, 4);
  EXPECT_EQ(line.settings().max_num_seqs, 128);
  EXPECT_EQ(line.settings().max_model_len, 32000);
  EXPECT_EQ(line.settings().enable_prefix_caching, false);
  EXPECT_EQ(line.settings().kv_cache_dtype, KVCacheDtype::fp8);
  EXPECT_THAT(line.not_read(), IsEmpty());
}

TEST(ServeLine, ReadsTheModuleFormVariablesAndWordsInFront) {
  const ServeLine line = parsed(
      "CUDA_VISIBLE_DEVICES=0 VLLM_USE_V2_MODEL_RUNNER=1 python -m "
      "vllm.entrypoints.openai.api_server --model 'LiquidAI/LFM2-1.2B' --port 8000");
  EXPECT_EQ(line.model(), "LiquidAI/LFM2-1.2B");
  EXPECT_EQ(line.settings().runner, ModelRunner::v2);
  EXPECT_THAT(line.not_read(), ElementsAre("CUDA_VISIBLE_DEVICES=0", "--port 8000"));
}

TEST(ServeLine, ReadsJsonAndDottedFlags) {
  const ServeLine json =
      parsed(R"(vllm serve m --speculative-config '{"method": "qwen3_next_mtp", )"
             R"("num_speculative_tokens": 2, "model": "x"}' )"
             R"(--compilation-config '{"cudagraph_mode": "FULL"}')");
  EXPECT_EQ(json.settings().speculative_method, SpeculativeMethod::mtp);
  EXPECT_EQ(json.settings().num_speculative_tokens, 2);
  EXPECT_EQ(json.settings().cudagraph_mode, CUDAGraphMode::full);
  EXPECT_THAT(json.not_read(), ElementsAre("--speculative-config model"));
  const ServeLine dotted = parsed("vllm serve m --speculative-config.num_speculative_tokens 3");
  EXPECT_EQ(dotted.settings().num_speculative_tokens, 3);
  const ServeLine shorter = parsed("vllm serve m -sc.method mtp -cc.cudagraph_mode=PIECEWISE");
  EXPECT_EQ(shorter.settings().speculative_method, SpeculativeMethod::mtp);
  EXPECT_EQ(shorter.settings().cudagraph_mode, CUDAGraphMode::piecewise);
}

TEST(ServeLine, CaptureSizesMayBeAFlagOrStandInTheCompilationConfig) {
  using Sizes = std::vector<std::int32_t>;
  const ServeLine json =
      parsed(R"(vllm serve m -cc '{"cudagraph_capture_sizes": [1, 2, 4], "mode": 3}' --port 80)");
  EXPECT_EQ(json.settings().cudagraph_capture_sizes, (Sizes{1, 2, 4}));
  EXPECT_THAT(json.not_read(), ElementsAre("--compilation-config mode", "--port 80"));
  EngineSettings wanted = json.settings();
  wanted.cudagraph_capture_sizes = Sizes{8, 16};
  wanted.max_cudagraph_capture_size = 16;
  EXPECT_EQ(json.with(wanted).text,
            R"(vllm serve m -cc '{"cudagraph_capture_sizes":[8,16],"mode":3}' --port 80 )"
            "--max-cudagraph-capture-size 16");

  const ServeLine dotted = parsed("vllm serve m -cc.cudagraph_capture_sizes=[1,2] --port 80");
  EXPECT_EQ(dotted.settings().cudagraph_capture_sizes, (Sizes{1, 2}));
  wanted = dotted.settings();
  wanted.cudagraph_capture_sizes = Sizes{8, 16};
  EXPECT_EQ(dotted.with(wanted).text,
            "vllm serve m -cc.cudagraph_capture_sizes='[8,16]' --port 80");

  EXPECT_EQ(error_of("vllm serve m --cudagraph-capture-sizes 1 2 "
                     "-cc '{\"cudagraph_capture_sizes\": [1]}'"),
            "--cudagraph-capture-sizes and cudagraph_capture_sizes of --compilation-config are "
            "both given; vLLM takes one of them");
  EXPECT_EQ(parsed(R"(vllm serve m -cc '{"max_cudagraph_capture_size": 64}')")
                .settings()
                .max_cudagraph_capture_size,
            64);
}

TEST(ServeLine, ALengthThatVllmChoosesStaysUnlessOneIsWanted) {
  for (const char* flag : {"--max-model-len auto", "--max-model-len -1", "--max-model-len=-1",
                           "--max-model-len 4096 --max-model-len auto"}) {
    const ServeLine line = parsed(std::string("vllm serve m ") + flag + " -O2");
    EXPECT_TRUE(line.vllm_chooses_length());
    EXPECT_EQ(line.settings().max_model_len, std::nullopt);
    EXPECT_EQ(line.with(line.settings()).text, line.text());
    EngineSettings wanted = line.settings();
    wanted.max_model_len = 8192;
    EXPECT_THAT(line.with(wanted).changes, ElementsAre("--max-model-len 8192 in place of auto"));
    EXPECT_THAT(line.with(wanted).text, AnyOf("vllm serve m --max-model-len 8192 -O2",
                                              "vllm serve m --max-model-len=8192 -O2"));
  }
  EXPECT_FALSE(
      parsed("vllm serve m --max-model-len auto --max-model-len 4096").vllm_chooses_length());
}

TEST(ServeLine, BytesMayHaveTheUnitsOfVllm) {
  const auto bytes = [](const std::string& text) {
    return parsed("vllm serve m --kv-cache-memory-bytes " + text).settings().kv_cache_memory_bytes;
  };
  EXPECT_EQ(bytes("30G"), std::int64_t{30} << 30);
  EXPECT_EQ(bytes("30g"), 30'000'000'000);
  EXPECT_EQ(bytes("1T"), std::int64_t{1} << 40);
}

TEST(ServeLine, AFlagWithoutAValueDoesNotTakeTheModel) {
  EXPECT_EQ(parsed("vllm serve --trust-remote-code m").model(), "m");
  EXPECT_EQ(parsed("vllm serve --enable-prefix-caching m").model(), "m");
  EXPECT_EQ(parsed("vllm serve --port 8000 m").model(), "m");
}

TEST(ServeLine, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("vllm bench m"), HasSubstr("neither \"vllm serve\" nor"));
  EXPECT_THAT(error_of("vllm serve"), HasSubstr("names no model"));
  EXPECT_THAT(error_of("vllm serve m --max-num-seqs"), HasSubstr("--max-num-seqs has no value"));
  EXPECT_THAT(error_of("vllm serve m -- --max-num-seqs 5"),
              HasSubstr("vllm serve reads no flag behind \"--\"; leave it out"));
  EXPECT_THAT(error_of("vllm serve m --max-num-seqs x"), HasSubstr("max_num_seqs"));
  EXPECT_THAT(error_of("vllm serve 'm"), HasSubstr("a quote (') is not closed"));
  EXPECT_THAT(error_of("vllm serve m --speculative-config '{\"method\": \"x\"}'"),
              HasSubstr("method"));
  EXPECT_THAT(error_of("vllm serve m -pp 2"), HasSubstr("--pipeline-parallel-size 2: sizes"));
  EXPECT_THAT(error_of("vllm serve m --decode_context_parallel_size=4"),
              HasSubstr("--decode-context-parallel-size 4: sizes"));
  EXPECT_THAT(error_of("vllm serve m -pcp 2"),
              HasSubstr("--prefill-context-parallel-size 2: sizes"));
  EXPECT_THAT(error_of("vllm serve m --speculative-config x"), HasSubstr("not a JSON object"));
}

TEST(ServeLine, WritesChangedFlagsInPlaceNewOnesAtTheEndAndDropsUnsetOnes) {
  const ServeLine line =
      parsed("vllm serve 'm' \\\n  --max-num-seqs=1024 --block-size 64  --port 80 -tp 2");
  EngineSettings wanted = line.settings();
  wanted.max_num_seqs = 614;
  wanted.block_size.reset();
  wanted.mamba_cache_mode = MambaCacheMode::align;
  wanted.num_speculative_tokens = 2;
  wanted.speculative_method = SpeculativeMethod::mtp;
  const ServeLine::Written written = line.with(wanted);
  EXPECT_EQ(written.text,
            "vllm serve 'm' \\\n  --max-num-seqs=614  --port 80 -tp 2 --mamba-cache-mode align "
            "--speculative-config '{\"method\":\"mtp\",\"num_speculative_tokens\":2}'");
  EXPECT_THAT(
      written.changes,
      ElementsAre("--mamba-cache-mode align added", "--block-size removed, it was 64",
                  "--max-num-seqs 614 in place of 1024",
                  R"(--speculative-config {"method":"mtp","num_speculative_tokens":2} added)"));
  EXPECT_THAT(written.left_out, IsEmpty());
}

TEST(ServeLine, KeepsTheOtherKeysOfAnObject) {
  const ServeLine line =
      parsed(R"(vllm serve m --speculative-config '{"model": "d", "num_speculative_tokens": 5}')");
  EngineSettings wanted = line.settings();
  wanted.num_speculative_tokens = 3;
  EXPECT_EQ(line.with(wanted).text,
            R"(vllm serve m --speculative-config '{"model":"d","num_speculative_tokens":3}')");
}

TEST(ServeLine, NamesSettingsThatServeHasNoFlagFor) {
  const ServeLine line = parsed("vllm serve m");
  EngineSettings wanted = line.settings();
  wanted.acceptance_rate = 0.5;
  EXPECT_THAT(line.with(wanted).left_out, ElementsAre("acceptance_rate 0.5"));
}

TEST(ServeLine, RanksThatAreOneAreNothing) {
  const ServeLine line = parsed("vllm serve m -pp 1 -dcp 1 --prefill-context-parallel-size 1");
  EXPECT_THAT(line.not_read(), IsEmpty());
  EXPECT_THAT(parsed("vllm serve m -dp 4").notes(),
              ElementsAre("data_parallel_size 4: the sizes are those of one of the engines"));
}

TEST(ServeLine, MethodsOfDraftsByTheirOwnNamesAreMtp) {
  for (const char* method : {"mtp", "qwen3_next_mtp", "qwen3_5_mtp", "nemotron_h_mtp",
                             "glm5_next_mtp", "deepseek_mtp", "kimi_k3_mtp"}) {
    const ServeLine line =
        parsed(fmt::format("vllm serve m --speculative-config.method {}", method));
    EXPECT_EQ(line.settings().speculative_method, SpeculativeMethod::mtp);
    EXPECT_EQ(line.draft_method(), "");
  }
}

TEST(ServeLine, DraftModelsAndMethodsThatNoSettingHasAreNamed) {
  const ServeLine line = parsed(
      R"(vllm serve m -sc '{"method": "eagle3", "model": "org/draft", "num_speculative_tokens": 3}')");
  EXPECT_EQ(line.draft_method(), "eagle3");
  EXPECT_EQ(line.draft_model(), "org/draft");
  EXPECT_EQ(line.settings().num_speculative_tokens, 3);
  EXPECT_EQ(line.settings().speculative_method, std::nullopt);
  EngineSettings wanted = line.settings();
  wanted.num_speculative_tokens = 2;
  wanted.speculative_method = SpeculativeMethod::mtp;
  EXPECT_EQ(
      line.with(wanted).text,
      R"(vllm serve m -sc '{"method":"eagle3","model":"org/draft","num_speculative_tokens":2}')");
  const ServeLine dotted = parsed("vllm serve m -sc.method dflash -sc.model=org/d");
  EXPECT_EQ(dotted.draft_method(), "dflash");
  EXPECT_EQ(dotted.draft_model(), "org/d");
}

TEST(ServeLine, OfTwoObjectsTheLastCounts) {
  const ServeLine line =
      parsed(R"(vllm serve m -sc '{"method": "mtp", "num_speculative_tokens": 3}' )"
             R"(--speculative-config '{"method": "ngram"}')");
  EXPECT_EQ(line.settings().speculative_method, SpeculativeMethod::ngram);
  EXPECT_EQ(line.settings().num_speculative_tokens, std::nullopt);
}

TEST(ServeLine, EagerIsNoGraphs) {
  const ServeLine line =
      parsed(R"(vllm serve m --enforce-eager -cc '{"cudagraph_mode": "FULL"}' --port 80)");
  EXPECT_EQ(line.settings().cudagraph_mode, CUDAGraphMode::none);
  EngineSettings wanted = line.settings();
  wanted.cudagraph_mode = CUDAGraphMode::piecewise;
  EXPECT_EQ(line.with(wanted).text,
            R"(vllm serve m -cc '{"cudagraph_mode":"PIECEWISE"}' --port 80)");
  EXPECT_EQ(parsed("vllm serve m --enforce-eager --no-enforce-eager").settings().cudagraph_mode,
            std::nullopt);
}

TEST(ServeLine, FlagsMayBeShortenedAsArgparseTakesThem) {
  EXPECT_EQ(parsed("vllm serve m --gpu_memory_util 0.5").settings().gpu_memory_utilization, 0.5);
  EXPECT_THAT(parsed("vllm serve m --max-num 5").not_read(), ElementsAre("--max-num 5"));
}

TEST(ServeLine, QuotedVariablesAndFlagsAreWrittenBack) {
  const ServeLine line =
      parsed("docker run -e 'VLLM_USE_V2_MODEL_RUNNER=0' x/vllm m '--max-num-seqs=5'");
  EngineSettings wanted = line.settings();
  wanted.max_num_seqs = 6;
  wanted.runner = ModelRunner::v2;
  EXPECT_EQ(line.with(wanted).text,
            "docker run -e VLLM_USE_V2_MODEL_RUNNER=1 x/vllm m --max-num-seqs=6");
}

TEST(ServeLine, AFolderNamesItsModel) {
  EXPECT_EQ(model_of_serve_line("/models/Qwen3.5-27B-FP8/").value(), "Qwen/Qwen3.5-27B");
  EXPECT_EQ(model_of_serve_line("~/hub/models--Qwen--Qwen3.5-27B/snapshots/1a2b").value(),
            "Qwen/Qwen3.5-27B");
  EXPECT_FALSE(model_of_serve_line("/models/llm").ok());
}

TEST(ServeLine, KnowsPresetsAndNamesOnHuggingFace) {
  EXPECT_EQ(model_of_serve_line("Qwen/Qwen3-Next-80B-A3B-Thinking").value(),
            "Qwen/Qwen3-Next-80B-A3B-Thinking");
  EXPECT_EQ(model_of_serve_line("tiny-gdn").value(), "tiny-gdn");
  EXPECT_THAT(model_of_serve_line("Qwen/Qwen3-8B").error().message,
              HasSubstr("give its file with --model config.json"));
}

// A value of the setting, or none.
void draw_setting(EngineSettings& settings) {
  switch (draw(0, 9)) {
    case 0: settings.max_num_seqs = draw(1, 2000); break;
    case 1: settings.mamba_cache_mode = static_cast<MambaCacheMode>(draw(0, 2)); break;
    case 2: settings.enable_prefix_caching = one_in(2); break;
    case 3:
      settings.num_speculative_tokens = draw(1, 5);
      settings.speculative_method = SpeculativeMethod::mtp;
      break;
    case 4: settings.gpu_memory_utilization = draw(1, 99) / 100.0; break;
    case 5: settings.kv_cache_memory_bytes = std::int64_t{draw(1, 1000)} << 20; break;
    case 6: settings.cudagraph_capture_sizes = std::vector<std::int32_t>{1, 2, draw(3, 64)}; break;
    case 7: settings.runner = one_in(2) ? ModelRunner::v1 : ModelRunner::v2; break;
    case 8: settings.cudagraph_mode = CUDAGraphMode::piecewise; break;
    default: settings.async_scheduling = one_in(2); break;
  }
}

EngineSettings drawn_settings() {
  EngineSettings settings;
  const std::int32_t count = draw(0, 8);
  for (std::int32_t i = 0; i < count; ++i) draw_setting(settings);
  return settings;
}

std::string drawn_line() {
  const char* lines[] = {
      "vllm serve m",
      "A=1 VLLM_USE_V2_MODEL_RUNNER=0 vllm serve m --port 80 \\\n --max-num-seqs 7 "
      "--max_num_seqs=9",
      "vllm serve --model=m --speculative-config='{\"num_speculative_tokens\": 1, \"x\": [1]}' -O2",
      "python3 -m vllm.entrypoints.openai.api_server --model m --cudagraph-capture-sizes 1 2 4 "
      "--no-async-scheduling --speculative-config.num-speculative-tokens 2",
      "vllm serve m --kv-cache-memory 1000000 --enable-prefix-caching -tp=2 "
      "--compilation-config \"{\\\"cudagraph_mode\\\": \\\"FULL\\\"}\"",
      "vllm serve m -cc '{\"cudagraph_capture_sizes\": [1, 2], \"mode\": 3}' --port 80",
      "vllm serve m -cc.cudagraph_capture_sizes [1,2,4] --port 80",
      "user@host:~$ vllm serve m --enforce-eager -cc.cudagraph_mode FULL 2>&1 | tee log",
      "docker run --gpus all -e A=1 -e VLLM_USE_V2_MODEL_RUNNER=0 x/vllm m '--max-num-seqs=7' &",
      "cd /x; export VLLM_USE_V2_MODEL_RUNNER=1\nsudo vllm serve m \\ \n  -tp 2 # two",
  };
  return lines[draw(0, 9)];
}

TEST(ServeLine, WhatIsWrittenReadsBackAsWanted) {
  test::check_property(300, [] {
    const std::string text = drawn_line();
    const auto line = ServeLine::parse(text);
    RC_ASSERT(line.ok());
    RC_ASSERT(line.value().text() == text);
    RC_ASSERT(line.value().with(line.value().settings()).text == text);
    EngineSettings wanted = drawn_settings();
    const ServeLine::Written written = line.value().with(wanted);
    RC_LOG() << text << "\n" << written.text << "\n";
    const auto again = ServeLine::parse(written.text);
    RC_ASSERT(again.ok());
    RC_ASSERT(again.value().settings() == wanted);
    RC_ASSERT(again.value().model() == "m");
    RC_ASSERT(again.value().with(wanted).changes.empty());
  });
}

TEST(ServeLine, ACommentAndALastBackslashAreNoWords) {
  EXPECT_THAT(parsed("vllm serve m # note").not_read(), IsEmpty());
  EXPECT_EQ(ServeLine::parse("vllm serve m --max-num-seqs 64 \\").value().settings().max_num_seqs,
            64);
}

}  // namespace
}  // namespace hybridscope::serve_line_test
