#include "sessions/startup/startup_log.h"

#include <gmock/gmock.h>

namespace hybridscope::startup_log_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

// As a terminal shows it: colours in front of each line.
constexpr std::string_view kServed =
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO 11-02 10:00:00 [api_utils.py:345]  ▄▄ ▄█ █     █    "
    " "
    "█ ▀▄▀ █  version 0.28.0\n"
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO 11-02 10:00:00 [api_utils.py:273] non-default args: "
    "{'model_tag': 'Qwen/Qwen3.8-27B', 'host': '0.0.0.0', 'model': 'Qwen/Qwen3.8-27B', "
    "'max_model_len': 131072, 'served_model_name': ['big', 'q'], 'tensor_parallel_size': 2, "
    "'gpu_memory_utilization': 0.9, 'enable_prefix_caching': False, 'enforce_eager': True, "
    "'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 3}}\n"
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO 11-02 10:00:01 [model.py:549] Resolved "
    "architecture: "
    "Qwen3_5ForConditionalGeneration\n"
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO 11-02 10:00:01 [model.py:1678] Using max model len "
    "131072\n"
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO 11-02 10:00:01 [scheduler.py:238] Chunked prefill "
    "is "
    "enabled with max_num_batched_tokens=8192.\n"
    "\x1B[0;36m(Worker_TP0 pid=9)\x1B[0;0m INFO 11-02 10:01:00 [interface.py:911] Setting "
    "attention "
    "block size to 832 tokens to ensure that attention page size is >= mamba page size.\n"
    "\x1B[0;36m(Worker_TP0 pid=9)\x1B[0;0m INFO 11-02 10:01:00 [interface.py:935] Padding mamba "
    "page "
    "size by 1.71% to ensure that mamba page size and attention page size are exactly equal.\n"
    "\x1B[0;36m(Worker_TP0 pid=9)\x1B[0;0m WARNING 11-02 10:01:00 [kv_cache_utils.py:1261] Add 3 "
    "padding layers, may waste at most 6.25% KV cache memory\n"
    "\x1B[0;36m(Worker_TP1 pid=10)\x1B[0;0m WARNING 11-02 10:01:00 [kv_cache_utils.py:1261] Add 3 "
    "padding layers, may waste at most 6.25% KV cache memory\n"
    "\x1B[0;36m(Worker_TP1 pid=10)\x1B[0;0m INFO 11-02 10:01:00 [gpu_worker.py:508] Available KV "
    "cache "
    "memory: 5.35 GiB\n"
    "\x1B[0;36m(Worker_TP0 pid=9)\x1B[0;0m INFO 11-02 10:01:00 [gpu_worker.py:508] Available KV "
    "cache "
    "memory: 5.33 GiB\n"
    "\x1B[0;36m(EngineCore pid=3)\x1B[0;0m INFO 11-02 10:01:01 [kv_cache_utils.py:1869] GPU KV "
    "cache "
    "size: 300,220 tokens, Maximum concurrency for 131,072 tokens per request: 2.29x\n"
    "\x1B[0;36m(APIServer pid=1)\x1B[0;0m INFO:     Application startup complete.\n";

TEST(StartupLog, TellsWhatAServerSays) {
  const StartupLog log = parse_startup_log(kServed);
  EXPECT_EQ(log.version, "0.28.0");
  EXPECT_EQ(log.model, "Qwen/Qwen3.8-27B");
  EXPECT_THAT(log.names, ElementsAre("big", "q"));
  EXPECT_EQ(log.serve_line,
            "vllm serve Qwen/Qwen3.8-27B --host 0.0.0.0 --max-model-len 131072 "
            "--served-model-name big q --tensor-parallel-size 2 --gpu-memory-utilization 0.9 "
            "--no-enable-prefix-caching --enforce-eager --speculative-config "
            R"('{"method":"mtp","num_speculative_tokens":3}')");
  EXPECT_THAT(log.notes, IsEmpty());
  EXPECT_EQ(log.entry_point, EntryPoint::serve);
  EXPECT_EQ(log.architecture, "Qwen3_5ForConditionalGeneration");
  EXPECT_THAT(log.max_model_len, Optional(131072));
  EXPECT_THAT(log.max_num_batched_tokens, Optional(8192));
  EXPECT_THAT(log.sizes.block_size, Optional(832));
  EXPECT_EQ(log.sizes.page_padding, "1.71");
  EXPECT_EQ(log.sizes.padding_layers, "3 (6.25 %)");
  EXPECT_THAT(log.sizes.tokens, Optional(300220));
  EXPECT_THAT(log.sizes.length, Optional(131072));
  EXPECT_EQ(log.sizes.concurrency, "2.29");
  EXPECT_TRUE(log.has_started);
}

// The smaller of both workers: 5.33 GiB are 5.325 to 5.335 GiB.
TEST(StartupLog, MemoryIsThatOfTheSmallestWorkerWithinItsRounding) {
  const StartupLog log = parse_startup_log(kServed);
  ASSERT_TRUE(log.memory.has_value());
  EXPECT_EQ(log.memory->least, 5717675213);
  EXPECT_EQ(log.memory->most, 5728412631);
}

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
  return text;
}

// Compose names the service, Kubernetes and journals have times in front, terminals break lines.
TEST(StartupLog, IsTheSameHoweverItWasPasted) {
  const StartupLog plain = parse_startup_log(kServed);
  const std::string colourless =
      replaced(replaced(std::string(kServed), "\x1B[0;36m", ""), "\x1B[0;0m", "");
  std::string wrapped;
  for (std::size_t i = 0, column = 0; i < colourless.size(); ++i) {
    wrapped += colourless[i];
    column = colourless[i] == '\n' ? 0 : column + 1;
    const bool is_inside_a_character =
        i + 1 < colourless.size() && (colourless[i + 1] & 0xC0) == 0x80;
    if (column >= 80 && !is_inside_a_character) {
      wrapped += '\n';
      column = 0;
    }
  }
  for (const std::string& text :
       {colourless, replaced("\n" + colourless, "\n", "\nvllm-1  | "),
        replaced("\n" + colourless, "\n", "\n2026-11-02T10:00:00.123456789Z stdout F "),
        replaced("\n" + colourless, "\n", "\nNov 02 10:00:00 host vllm[7222]: "),
        replaced("\n" + colourless, "\n", "\n> "), replaced(colourless, "\n", "\r\n"),
        replaced(colourless, "\n", "\n\n"), wrapped}) {
    const StartupLog log = parse_startup_log(text);
    EXPECT_EQ(log.version, "0.28.0") << text;
    EXPECT_EQ(log.serve_line, plain.serve_line) << text;
    EXPECT_THAT(log.max_num_batched_tokens, Optional(8192)) << text;
    EXPECT_THAT(log.sizes.block_size, Optional(832)) << text;
    EXPECT_THAT(log.sizes.tokens, Optional(300220)) << text;
    EXPECT_EQ(log.sizes.concurrency, "2.29") << text;
    EXPECT_EQ(log.memory->least, plain.memory->least) << text;
  }
}

TEST(StartupLog, ALineThatIsCutTellsNothing) {
  const StartupLog log = parse_startup_log(
      "INFO [api_utils.py:273] non-default args: {'model': 'm', 'max_num_seqs': 8, "
      "'max_model_len': 13...\n"
      "INFO 11-02 10:00:00 [kv_cache_utils.py:1869] GPU KV cache size: 300,2\n"
      "INFO 11-02 10:00:00 [core.py:1] Setting attention block size to 832 tok");
  EXPECT_EQ(log.serve_line, "vllm serve m --max-num-seqs 8");
  EXPECT_THAT(log.notes, ElementsAre("the line of the arguments is cut: later ones are not known"));
  EXPECT_FALSE(log.sizes.tokens.has_value());
  EXPECT_FALSE(log.sizes.block_size.has_value());
}

TEST(StartupLog, WithoutArgumentsThoseOfTheEngineAreTaken) {
  const StartupLog log = parse_startup_log(
      "(EngineCore pid=7) INFO 11-02 10:00:00 [core.py:109] Initializing a V1 LLM engine (v0.30.0) "
      "with "
      "config: model='/models/q', speculative_config=SpeculativeConfig(method='mtp', "
      "model='/models/q', num_spec_tokens=2), dtype=torch.bfloat16, max_seq_len=32768, "
      "tensor_parallel_size=4, pipeline_parallel_size=1, enforce_eager=False, kv_cache_dtype=fp8, "
      "enable_prefix_caching=True, compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, "
      "'cudagraph_mode': <CUDAGraphMode.PIECEWISE: 1>}\n");
  EXPECT_EQ(log.version, "0.30.0");
  EXPECT_EQ(
      log.serve_line,
      "vllm serve /models/q --max-model-len 32768 --tensor-parallel-size 4 --kv-cache-dtype fp8 "
      "--enable-prefix-caching --speculative-config "
      R"('{"method":"mtp","num_speculative_tokens":2}' )"
      R"(--compilation-config '{"cudagraph_mode":"PIECEWISE"}')");
  EXPECT_THAT(log.notes, testing::SizeIs(1));
}

TEST(StartupLog, ACommandThatWasPastedWithItHasTheArguments) {
  const StartupLog log = parse_startup_log(
      "I run\n$ vllm serve Qwen/Qwen3.5-9B \\\n    --max-num-seqs 8\nand it says\n"
      "GPU KV cache size: 1,000 tokens");
  EXPECT_EQ(log.model, "Qwen/Qwen3.5-9B");
  EXPECT_EQ(log.serve_line, "vllm serve Qwen/Qwen3.5-9B     --max-num-seqs 8");
}

TEST(StartupLog, TheMethodOfADraftModelIsTheEngines) {
  EXPECT_EQ(
      parse_startup_log("non-default args: {'model': 'm', 'speculative_config': {'model': 'd', "
                        "'num_speculative_tokens': 3}}\nInitializing a V1 LLM engine (v0.28.0) "
                        "with config: model='m', speculative_config=SpeculativeConfig("
                        "method='eagle3', model='d', num_spec_tokens=3), seed=0")
          .serve_line,
      "vllm serve m --speculative-config "
      R"('{"model":"d","num_speculative_tokens":3,"method":"eagle3"}')");
}

// A class has all its members in the log; those are kept that somebody sets.
TEST(StartupLog, OfAWholeConfigurationOfCompilationWhatWasSetIsKept) {
  EXPECT_EQ(
      parse_startup_log("non-default args: {'model': 'm', 'compilation_config': {'mode': None, "
                        "'debug_dump_path': None, 'backend': 'inductor', 'cudagraph_mode': "
                        "<CUDAGraphMode.PIECEWISE: 1>, 'cudagraph_capture_sizes': [1, 2]}}")
          .serve_line,
      "vllm serve m --compilation-config "
      R"('{"cudagraph_mode":"PIECEWISE","cudagraph_capture_sizes":[1,2]}')");
}

// A checkpoint in NVFP4 can ask for a cache in FP8.
TEST(StartupLog, TheCachesDtypeCanComeFromTheCheckpoint) {
  const StartupLog log = parse_startup_log(
      "non-default args: {'model': 'm'}\n"
      "INFO 11-02 10:00:00 [cache.py:227] Using fp8_e4m3 data type to store kv cache. It reduces");
  EXPECT_EQ(log.serve_line, "vllm serve m --kv-cache-dtype fp8_e4m3");
  EXPECT_THAT(
      log.notes,
      ElementsAre("kv_cache_dtype fp8_e4m3 is that of the checkpoint: no argument sets it"));
}

TEST(StartupLog, OfTheClassLLMHasNoServer) {
  EXPECT_EQ(parse_startup_log("INFO 11-02 10:00:00 [utils.py:233] non-default args: "
                              "{'disable_log_stats': True, 'model': 'm'}")
                .entry_point,
            EntryPoint::llm);
}

TEST(StartupLog, TellsRefusals) {
  const StartupLog graphs = parse_startup_log(
      "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (919). Each decode "
      "sequence requires one");
  EXPECT_THAT(graphs.sizes.refused_seqs, Optional(1024));
  EXPECT_THAT(graphs.num_blocks, Optional(919));
  const StartupLog memory = parse_startup_log(
      "ValueError: To serve at least one request with the model's max seq len (163840), (10.72 GiB "
      "KV "
      "cache is needed, which is larger than the available KV cache memory (3.0 GiB). Based on the "
      "available memory, the estimated maximum model length is 45824. Try increasing");
  EXPECT_THAT(memory.sizes.refused_length, Optional(163840));
  EXPECT_EQ(memory.sizes.needed_gib, "10.72");
  EXPECT_THAT(memory.sizes.longest, Optional(45824));
  EXPECT_EQ(memory.usable_memory->least, 3215856763);
  EXPECT_THAT(parse_startup_log("In Mamba cache align mode, block_size (2096) must be <= "
                                "max_num_batched_tokens (2048).")
                  .sizes.refused_block,
              Optional(2096));
}

// A container that starts again and again has all its logs in one.
TEST(StartupLog, OfSeveralStartsIsTheLastWithSizes) {
  const StartupLog log = parse_startup_log(
      "non-default args: {'model': 'a'}\nGPU KV cache size: 1,000 tokens\n"
      "non-default args: {'model': 'b'}\nGPU KV cache size: 2,000 tokens\n"
      "non-default args: {'model': 'c'}\n");
  EXPECT_EQ(log.model, "b");
  EXPECT_THAT(log.sizes.tokens, Optional(2000));
}

TEST(StartupLog, TheGpuIsTheOneThatIsNamed) {
  const auto gpu = [](std::string_view text) {
    const Gpu* found = parse_startup_log(text).gpu;
    return found == nullptr ? std::string_view("none") : found->name;
  };
  EXPECT_EQ(gpu("Using config E=128,N=384,device_name=NVIDIA_H100_80GB_HBM3.json"), "h100");
  EXPECT_EQ(gpu("GPU 0: NVIDIA GeForce RTX 4090"), "4090");
  EXPECT_EQ(gpu("GPU 0: NVIDIA A100-SXM4-40GB"), "a100-40gb");
  EXPECT_EQ(gpu("GPU 0: NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "rtxpro6000");
  EXPECT_EQ(gpu("NVIDIA L40S"), "l40s");
  EXPECT_EQ(gpu("model nvidia/H100-tuned; NVIDIA driver"), "none");
}

TEST(StartupLog, TellsWhatGpuItIsByItsMemoryAndCapability) {
  const StartupLog log = parse_startup_log(
      "SymmMemCommunicator: Device capability 12.0 not supported, communicator is not available.\n"
      "Free memory on device (94.05/95.01 GiB) on startup. Desired GPU memory utilization is (0.9, "
      "85.51 GiB). Current kv cache memory in use is 27.85 GiB.\n"
      "Current kv cache memory in use is 27.83 GiB.\n");
  EXPECT_EQ(log.gpu, nullptr);
  EXPECT_EQ(log.gpu_memory_gib, 95.01);
  EXPECT_THAT(log.compute_capability, Optional(120));
  EXPECT_EQ(log.memory->most / (1 << 20), 28503);  // 27.835 GiB, of the smaller one
}

TEST(NearestRelease, IsTheSameOneOrANeighbour) {
  EXPECT_EQ(nearest_release("0.28.0"), Release::v0_28_0);
  EXPECT_EQ(nearest_release("0.28.0+cu130"), Release::v0_28_0);
  EXPECT_EQ(nearest_release("0.28.1"), Release::v0_28_0);
  EXPECT_EQ(nearest_release("0.27.0"), Release::v0_27_1);
  EXPECT_EQ(nearest_release("0.28.1rc1.dev46+gb50646e5e"), Release::v0_29_0);
  EXPECT_EQ(nearest_release("0.22.0"), Release::v0_24_0);
  EXPECT_EQ(nearest_release("0.34.0"), Release::v0_33_0);
  EXPECT_EQ(nearest_release("0.33.1rc1.dev3"), Release::v0_33_0);
  EXPECT_EQ(nearest_release(""), Release::v0_33_0);
}

}  // namespace
}  // namespace hybridscope::startup_log_test
