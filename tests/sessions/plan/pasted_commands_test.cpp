// Commands that people pasted into public threads, shortened: flags that are no settings here are
// left out but for a few, and names of users, hosts and folders are others. With what the thread
// shows of the start, where it does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "sessions/plan/serve_flags.h"
#include "sessions/plan/serve_line.h"

namespace hybridscope::pasted_commands_test {
namespace {

struct Pasted {
  std::string thread;  // repository and number of the thread, or the page
  std::string command;
  std::string model;  // as model_of_serve_line finds it; empty: it is not known by name
  std::string settings;
  std::string not_read;
  std::string error;    // of the command, in place of all that
  std::string started;  // the release, and what it logged
};

const std::vector<Pasted> kPasted = {
    {.thread = "vllm-project/vllm#40756",
     .command = R"(docker rm -f $(docker ps -aq)
docker run -d \
  --gpus all \
  --memory 120g \
  -p 8000:8000 \
  -v /home/user/model:/model \
  --ipc=host \
  --name vllm \
  --env VLLM_USE_FLASHINFER_SAMPLER=1 \
  --env HF_HUB_OFFLINE=1 \
  vllm/vllm-openai:v0.20.0-x86_64-cu130 \
  /model/Qwen3.6-27B-FP8 \
  --gpu-memory-utilization 0.90 \
  --max-model-len 256K \
  --max-num-seqs 10 \
  --max-num-batched-tokens 4096 \
  --tensor-parallel-size 4 \
  --enable-prefix-caching \
  --no-enforce-eager \
  --limit-mm-per-prompt '{"video": 0}' \
  --speculative-config '{"method": "qwen3_5_mtp", "num_speculative_tokens": 5}' \
  --host 0.0.0.0)",
     .model = "Qwen/Qwen3.6-27B",
     .settings = "tensor_parallel_size=4 gpu_memory_utilization=0.9 max_model_len=262144 "
                 "max_num_seqs=10 max_num_batched_tokens=4096 enable_prefix_caching=true "
                 "speculative_config/method=mtp speculative_config/num_speculative_tokens=5",
     .not_read = "VLLM_USE_FLASHINFER_SAMPLER=1 | --limit-mm-per-prompt '{\"video\": 0}' | "
                 "--host 0.0.0.0"},
    {.thread = "kyuz0/amd-strix-halo-vllm-toolboxes#53",
     .command = R"(env \
  VLLM_ROCM_USE_AITER=0 \
  vllm serve Qwen/Qwen3.6-35B-A3B \
    --port 8000 \
    --kv-cache-dtype auto \
    --language-model-only \
    --max-model-len 65536 \
    --gpu-memory-utilization 0.80 \
    --max-num-seqs 8 \
    --enable-chunked-prefill \
    --speculative-config '{"method":"qwen3_next_mtp","num_speculative_tokens":2}')",
     .model = "Qwen/Qwen3.6-35B-A3B",
     .settings = "gpu_memory_utilization=0.8 max_model_len=65536 kv_cache_dtype=auto "
                 "max_num_seqs=8 enable_chunked_prefill=true speculative_config/method=mtp "
                 "speculative_config/num_speculative_tokens=2",
     .not_read = "VLLM_ROCM_USE_AITER=0 | --port 8000 | --language-model-only"},
    {.thread = "eugr/spark-vllm-docker#237",
     .command = R"(vllm serve /home/user/ai-mode/Qwen3.6-35B-A3B-FP8 \
    --speculative-config '{"method": "qwen3_next_mtp", "num_speculative_tokens": 5}' \
    --tensor-parallel-size 2 \
    --max-num-batched-tokens 131072 \
    --max-num-seqs 16 \
    --load-format fastsafetensors \
    --attention-backend flash_attn)",
     .model = "Qwen/Qwen3.6-35B-A3B",
     .settings = "tensor_parallel_size=2 max_num_seqs=16 max_num_batched_tokens=131072 "
                 "speculative_config/method=mtp speculative_config/num_speculative_tokens=5",
     .not_read = "--load-format fastsafetensors | --attention-backend flash_attn"},
    {.thread = "vllm-project/vllm#36643",
     .command = "root@pod-z8p8q:/data# nohup python3 -m vllm.entrypoints.openai.api_server "
                "--model /models/Qwen3.5-35B-A3B --pipeline-parallel-size 4 --max-num-seqs 32 "
                "--speculative-config '{\"method\":\"qwen3_next_mtp\","
                "\"num_speculative_tokens\":2}' > run.log 2>&1 &",
     .error = "--pipeline-parallel-size 4: sizes with it are not computed: each stage"},
    {.thread = "vllm-project/vllm#40585",
     .command = "vllm serve /dev/shm/Qwen3.5-35B-A3B --max-num-batched-tokens=8K "
                "--max-num-seqs 128 --enable-prefix-caching --mamba-cache-mode align --host :: "
                "--tensor-parallel-size 8 -dcp 4",
     .error = "--decode-context-parallel-size 4: sizes with it are not computed: the blocks of a "
              "request are spread"},
    {.thread = "vllm-project/recipes#550",
     .command = R"(CUDA_VISIBLE_DEVICES=6 \
/tmp/venv/bin/python -u -m vllm.entrypoints.cli.main serve \
  /data/models/Kimi-Linear-48B-A3B-Instruct/Kimi-Linear-48B-A3B-Instruct \
  --port 8003 \
  --tensor-parallel-size 1 \
  --max-model-len 32768 \
  --enable-prefix-caching \
  --enforce-eager)",
     .model = "moonshotai/Kimi-Linear-48B-A3B-Instruct",
     .settings = "tensor_parallel_size=1 max_model_len=32768 enable_prefix_caching=true "
                 "cudagraph_mode=NONE",
     .not_read = "CUDA_VISIBLE_DEVICES=6 | --port 8003"},
    {.thread = "NVIDIA-NeMo/Nemotron#289",
     .command = R"(vllm serve nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4 \
  --trust-remote-code \
  --tensor-parallel-size 8 \
  --mamba-cache-dtype float16 \
  --mamba-ssm-cache-dtype float16 \
  --mamba-cache-philox-rounds 5 \
  --enable-mamba-cache-stochastic-rounding \
  --max-num-seqs 128 \
)",
     .model = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4",
     .settings = "tensor_parallel_size=8 mamba_cache_dtype=float16 mamba_ssm_cache_dtype=float16 "
                 "max_num_seqs=128",
     .not_read = "--trust-remote-code | --mamba-cache-philox-rounds 5 | "
                 "--enable-mamba-cache-stochastic-rounding"},
    {.thread = "docs.vultr.com/inference-cookbook/cuda/model-guides/nemotron-nano",
     .command = R"($ docker run --rm --gpus all --ipc=host \
-v ~/.cache/huggingface:/cache \
-p 8000:8000 \
vllm/vllm-openai:v0.16.0 \
--model nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8 \
--tensor-parallel-size 2 \
--max-model-len 32768 \
--gpu-memory-utilization 0.90 \
--trust-remote-code)",
     .model = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8",
     .settings = "tensor_parallel_size=2 gpu_memory_utilization=0.9 max_model_len=32768",
     .not_read = "--trust-remote-code"},
    {.thread = "recipes.vllm.ai/Qwen/Qwen3.5-397B-A17B",
     .command = R"(docker run --device=/dev/kfd --device=/dev/dri \
  --security-opt seccomp=unconfined \
  --group-add video \
  --ipc=host \
  -p 8000:8000 \
  vllm/vllm-openai-rocm:latest \
  Qwen/Qwen3.5-397B-A17B-FP8 \
  --tensor-parallel-size 8 \
  --reasoning-parser qwen3 \
  --enable-prefix-caching)",
     .model = "Qwen/Qwen3.5-397B-A17B-FP8",
     .settings = "tensor_parallel_size=8 enable_prefix_caching=true",
     .not_read = "--reasoning-parser qwen3"},
    {.thread = "vllm-project/vllm#46169",
     .command = R"(docker run --rm -it \
        --cap-add=SYS_PTRACE \
        --device /dev/kfd \
        -v /data/vllm/hf:/cache \
        --env HF_TOKEN=hf_XXXXXX \
        vllm/vllm-openai-rocm:v0.23.0 \
        Qwen/Qwen3.5-2B \
        --port 3456 \
        --language-model-only)",
     .model = "Qwen/Qwen3.5-2B",
     .settings = "",
     .not_read = "--port 3456 | --language-model-only"},
    {.thread = "turnstonelabs/turnstone#782",
     .command = R"(services:
  # --- reasoning + tools
  vllm-qwen:
    image: ${VLLM_IMAGE:-vllm/vllm-openai:latest}
    command:
      - --model
      - ${QWEN_MODEL:-nvidia/Qwen3.6-27B-NVFP4}
      - --host
      - "0.0.0.0"
      - --gpu-memory-utilization
      - "0.50"
      - --max-model-len
      - "262144"
      - --max-num-seqs
      - "8"
      - --enable-prefix-caching
      - --speculative-config
      - '{"method": "mtp", "num_speculative_tokens": 2}'
    environment:
      HF_TOKEN: ${HF_TOKEN:-}
  vllm-gemma:
    image: ${VLLM_IMAGE:-vllm/vllm-openai:latest}
    command: ["--model", "google/gemma-4-12b-it"]
)",
     .model = "nvidia/Qwen3.6-27B-NVFP4",
     .settings = "gpu_memory_utilization=0.5 max_model_len=262144 max_num_seqs=8 "
                 "enable_prefix_caching=true speculative_config/method=mtp "
                 "speculative_config/num_speculative_tokens=2",
     .not_read = "--host 0.0.0.0"},
    {.thread = "mitchross/talos-argocd-proxmox#2273",
     .command = R"(apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      initContainers:
        - name: wait-for-model-cache
          image: python:3.14-alpine
          command: [python3, /opt/model_cache.py, wait]
      containers:
        - name: vllm-server
          image: vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14
          # The first argument is the model.
          args:
            - /models/Qwen3.8-27B-FP8-017b9c7af6b5
            - --tensor-parallel-size
            - "2"
            - --max-model-len
            - "262144"
            - --max-num-seqs
            - "2"
            - --async-scheduling
            - --compilation-config
            - '{"max_cudagraph_capture_size":4,"custom_ops":["+rms_norm","+silu_and_mul"]}'
            - --kv-cache-dtype
            - fp8_e4m3
            - --mamba-ssm-cache-dtype
            - float16
            - --enable-prefix-caching
            - --mamba-cache-mode
            - align
            - --prefix-match-unit
            - "16"
            - --long-prefill-token-threshold
            - "4096"
          env:
            - name: HF_HUB_OFFLINE
              value: "1"
            - name: VLLM_WORKER_MULTIPROC_METHOD
              value: spawn
)",
     .model = "Qwen/Qwen3.8-27B",
     .settings = "mamba_cache_mode=align tensor_parallel_size=2 max_model_len=262144 "
                 "kv_cache_dtype=fp8_e4m3 mamba_ssm_cache_dtype=float16 max_num_seqs=2 "
                 "long_prefill_token_threshold=4096 enable_prefix_caching=true "
                 "prefix_match_unit=16 async_scheduling=true max_cudagraph_capture_size=4 "
                 "engine=vllm-0.30.0",
     .not_read = "VLLM_WORKER_MULTIPROC_METHOD=spawn | --compilation-config custom_ops"},
    {.thread = "vllm-project/vllm#49011",
     .command =
         R"((.venv312) user@DESKTOP:~/py312cuda130$ vllm serve unsloth/Qwen3.6-27B-NVFP4   --gpu-memory-utilization 0.7   --max-model-len 1048576   --max-num-seqs 1   --max-num-batched-tokens 32768   --enable-prefix-caching   --kv-cache-dtype nvfp4   --compilation-config '{"cudagraph_mode":"PIECEWISE"}'   --speculative-config '{"method":"mtp","num_speculative_tokens":2}'
(APIServer pid=7289) INFO 07-25 13:41:23 [api_utils.py:339] version 0.25.1)",
     .error = "--kv-cache-dtype: kv_cache_dtype is \"nvfp4\", which is not modelled",
     .started = "0.25.1: Add 3 padding layers, may waste at most 6.25% KV cache memory; GPU KV "
                "cache size: 1,823,372 tokens; Maximum concurrency for 1,048,576 tokens per "
                "request: 1.74x"},
    {.thread = "nlzy/vllm-gfx906#45",
     .command = "(base) user@user-Standard-PC-Q35-ICH9-2009: vllm serve "
                "'/mnt/models/Qwen3-Next-80B-A3B-Thinking-AWQ-8bit/' --tensor-parallel-size 4 "
                "--max-model-len 131072 --max-num-batched-tokens 7168 --max-num-seqs 80 "
                "--gpu-memory-utilization 0.95 -O 3\n"
                "INFO 10-02 11:30:49 [__init__.py:217] Automatically detected platform rocm.",
     .model = "Qwen/Qwen3-Next-80B-A3B-Instruct",
     .settings = "tensor_parallel_size=4 gpu_memory_utilization=0.95 max_model_len=131072 "
                 "max_num_seqs=80 max_num_batched_tokens=7168 optimization_level=3",
     .not_read = ""},
    {.thread = "QwenLM/Qwen3.8#64",
     .command = "(qwen35-vllm) (base) user@Mac qwen35-vllm % vllm serve "
                "/Users/user/VLLM/Qwen3.5-2B --port 8000 --tensor-parallel-size 1 "
                "--max-model-len 8192 --reasoning-parser qwen3",
     .model = "Qwen/Qwen3.5-2B",
     .settings = "tensor_parallel_size=1 max_model_len=8192",
     .not_read = "--port 8000 | --reasoning-parser qwen3"},
    {.thread = "intel/llm-scaler#415",
     .command =
         R"(root@intel-NucBox-EVO-T2S:~# VLLM_WORKER_MULTIPROC_METHOD=spawn python -m vllm.entrypoints.openai.api_server \
  --model /workspace/vllm/models/Qwen/Qwen3.5-35B-A3B-FP8 \
  --max-model-len 1200 \
  --gpu-memory-utilization 0.8 \
  --enforce-eager \
  --block-size 64 \
  --max-num-seqs 2)",
     .model = "Qwen/Qwen3.5-35B-A3B",
     .settings = "gpu_memory_utilization=0.8 block_size=64 max_model_len=1200 max_num_seqs=2 "
                 "cudagraph_mode=NONE",
     .not_read = "VLLM_WORKER_MULTIPROC_METHOD=spawn"},
    {.thread = "vllm-project/recipes#551",
     .command = "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3.6-27B-FP8 "
                "--gpu-memory-utilization 0.95 --enable-auto-tool-choice",
     .model = "Qwen/Qwen3.6-27B-FP8",
     .settings = "gpu_memory_utilization=0.95",
     .not_read = "--enable-auto-tool-choice",
     .started = "one H100: max_num_seqs (1024) exceeds available Mamba cache blocks (856)"},
    {.thread = "vllm-project/vllm#40696",
     .command = R"(# Start vllm serve with prefix caching
vllm serve Qwen/Qwen3.5-4B \
  --enable-prefix-caching \
  --max-model-len 1024 \
  --dtype bfloat16

# Send requests with the same ~480 token prefix but different query suffixes)",
     .model = "Qwen/Qwen3.5-4B",
     .settings = "max_model_len=1024 enable_prefix_caching=true",
     .not_read = "--dtype bfloat16",
     .started = "0.19.1: Setting attention block size to 528 tokens to ensure that attention page "
                "size is >= mamba page size."},
    {.thread = "vllm-project/vllm#41869",
     .command = R"(VLLM_SSM_CONV_STATE_LAYOUT=DS \
vllm serve Qwen/Qwen3.5-0.8B \
  --enforce-eager \
  --block-size 128 \
  --tensor-parallel-size <TP> \
  --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')",
     .error = "\"<TP>\" is a placeholder: put its value there"},
    {.thread = "vllm-project/vllm (XPU, granite-4.0-h fails to load)",
     .command = "vllm serve ibm-granite/granite-4.0-h-micro --dtype half --max-model-len 12K "
                "--gpu-memory-utilization 0.8 -O0",
     .model = "ibm-granite/granite-4.0-h-micro",
     .settings = "gpu_memory_utilization=0.8 max_model_len=12288 optimization_level=0",
     .not_read = "--dtype half"},
    {.thread = "a script that serves granite-4.0-h-small on HPU",
     .command = R"(VLLM_CONTIGUOUS_PA=false \
vllm serve ibm-granite/granite-4.0-h-small \
--override-generation-config '{"temperature": 0}' \
--tensor-parallel-size 1 \
--max_model_len 131072 \
--gpu_memory_util 0.9 \
--max-num-seqs 32 \
--no-enable-prefix-caching)",
     .model = "ibm-granite/granite-4.0-h-small",
     .settings = "tensor_parallel_size=1 gpu_memory_utilization=0.9 max_model_len=131072 "
                 "max_num_seqs=32 enable_prefix_caching=false",
     .not_read = "VLLM_CONTIGUOUS_PA=false | --override-generation-config '{\"temperature\": 0}'"},
    {.thread = "a script that serves Falcon-H1 beside other models",
     .command = "CUDA_VISIBLE_DEVICES=0,1,2,3 OUTLINES_CACHE_DIR=\"$WD/cache\" vllm serve "
                "tiiuae/Falcon-H1-34B-Instruct --gpu-memory-utilization 0.75 -tp 4 "
                "--no-enable-prefix-caching  --port 8003 --max-num-batched-tokens 24000 "
                "--max-model-len 24000 & \n",
     .model = "tiiuae/Falcon-H1-34B-Instruct",
     .settings = "tensor_parallel_size=4 gpu_memory_utilization=0.75 max_model_len=24000 "
                 "max_num_batched_tokens=24000 enable_prefix_caching=false",
     .not_read = "CUDA_VISIBLE_DEVICES=0,1,2,3 | OUTLINES_CACHE_DIR=\"$WD/cache\" | --port 8003"},
    {.thread = "wtdcode/vllm-backport#36",
     .command = R"(vllm serve /models/wtdcode/Qwen3.8-Flash-Next-AWQ-W4A16 \
    --tensor-parallel-size 4 \
    --pipeline-parallel-size 2 \
    --compilation-config '{"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}' \
    --speculative-config '{"method":"mtp","num_speculative_tokens":3}' \
    --block-size 800)",
     .error = "--pipeline-parallel-size 2: sizes with it are not computed"},
    {.thread = "LiquidAI/LFM2-24B-A2B, a page of Hugging Face",
     .command = "# Start the vLLM server:\nvllm serve \"LiquidAI/LFM2-24B-A2B\"",
     .model = "LiquidAI/LFM2-24B-A2B"},
};

std::string settings_text(const EngineSettings& settings) {
  std::vector<std::string> words;
  for (const Setting& setting : settings_table())
    if (const std::string value = flag_value(settings, setting); !value.empty())
      words.push_back(fmt::format("{}={}", setting_path(setting), value));
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(PastedCommands, AreReadAsVllmReadsThem) {
  for (const Pasted& pasted : kPasted) {
    SCOPED_TRACE(pasted.thread);
    const auto line = ServeLine::parse(pasted.command);
    if (!pasted.error.empty()) {
      EXPECT_FALSE(line.ok());
      if (!line.ok()) EXPECT_THAT(line.error().message, testing::HasSubstr(pasted.error));
      continue;
    }
    if (!line.ok()) {
      ADD_FAILURE() << line.error().message;
      continue;
    }
    const auto model = model_of_serve_line(line.value().model());
    EXPECT_EQ(model.ok() ? model.value() : "", pasted.model);
    EXPECT_EQ(settings_text(line.value().settings()), pasted.settings);
    EXPECT_EQ(fmt::format("{}", fmt::join(line.value().not_read(), " | ")), pasted.not_read);
    EXPECT_EQ(line.value().with(line.value().settings()).text, line.value().text());
  }
}

}  // namespace
}  // namespace hybridscope::pasted_commands_test
