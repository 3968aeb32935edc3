// The settings of an engine. Names are vLLM's where vLLM has the setting.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/policy_set.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

enum class SpeculativeMethod : std::uint8_t {
  none,
  mtp,          // eagle rules: always K drafts unless budget or length cuts them
  ngram,        // no eagle rules; on runner V1 0..K drafts by a keyed draw, on V2 always K
  draft_model,  // no eagle rules; always K drafts (semantics: draft-methods)
};

enum class SchedulingPolicy : std::uint8_t { fcfs, priority };

// Which model runner turns scheduler output into rows (vLLM: gpu_model_runner.py or worker/gpu).
enum class ModelRunner : std::uint8_t {
  v1,  // a persistent batch of rows
  v2,  // one slot per request, rows laid out anew in every step
};

// In what order the persistent batch is handed to the builders (semantics: reorder-batch).
enum class BatchOrder : std::uint8_t {
  by_region,    // decodes first: a builder has a reorder_batch_threshold
  as_condensed  // reorder_batch_threshold is None: there is no builder, rows stay as condensed
};

struct EngineConfig {
  // Model and memory (built from a model spec by core/model).
  KVCacheConfig kv_cache_config;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
  std::int32_t conv_kernel = 4;            // W: conv blocks hold W - 1 + K token positions
  std::int32_t conv_window_len = 0;        // positions of a conv block; 0: W - 1 + K
  std::int32_t chunk_size = 256;           // of the SSD kernels
  std::int32_t block_size = 16;            // cache_config.block_size, tokens
  std::int32_t scheduler_block_size = 16;  // tokens; hit lengths are multiples of it
  std::int32_t hash_block_size = 16;       // tokens a request hash covers
  std::int32_t max_model_len = 262144;

  // Scheduler.
  std::int32_t max_num_seqs = 256;
  std::int32_t max_num_batched_tokens = 8192;
  std::int32_t long_prefill_token_threshold = 0;  // 0: off
  bool enable_chunked_prefill = true;
  bool enable_prefix_caching = true;
  bool scheduler_reserve_full_isl = true;  // admit only what fits as a whole
  double watermark = 0.0;                  // fraction of blocks kept free at admission
  // Tokens between two states that stay cached, 0: only where hits end; empty: every state does.
  std::optional<std::int32_t> prefix_cache_retention_interval;
  // EAGLE-like drafts, from 0.30.0 and 0.33.0 on: keep the last block of a hit; do not let hashes
  // cover the tokens after a block.
  bool disable_eagle_block_drop = false;
  bool disable_lookahead_block_hashes = false;
  // Hits inside blocks, from 0.30.0 on: the end of a shared prefix is registered exactly.
  bool enable_mamba_shared_prefix_checkpoint = false;
  SchedulingPolicy scheduling_policy = SchedulingPolicy::fcfs;

  // One frame in flight: the next step is scheduled before the last one's acceptance is known.
  bool async_scheduling = false;

  // The KV connector of a consumer writes blocks outside the CUDA stream: with frames in flight,
  // whole requests are freed only when those have returned (semantics: deferred-frees).
  bool kv_consumer = false;

  // Ranks that run other requests in lock-step with this one: with more than one, a step that
  // schedules nothing is a dummy run.
  std::int32_t data_parallel_size = 1;

  // Worker.
  ModelRunner runner = ModelRunner::v1;
  BatchOrder batch_order = BatchOrder::by_region;

  // Speculation. Draft j is accepted iff all before it are and a keyed draw is below the rate.
  SpeculativeMethod speculative_method = SpeculativeMethod::none;
  std::int32_t num_speculative_tokens = 0;  // K
  double acceptance_rate = 0.7;
  std::uint64_t seed = 0;

  // CUDA graphs, as requested; scheduler_setup.h resolves them.
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::full_and_piecewise;
  std::vector<std::int32_t> cudagraph_capture_sizes;  // tokens, ascending; empty: the default list
  std::optional<std::int32_t> max_cudagraph_capture_size;  // tokens, of the default list
  AttentionBackend attention_backend = AttentionBackend::flash_attn_3;
  bool compiled_piecewise = true;  // in pieces around attention; false: optimization level O0

  // Simulated time of a step: base + per token.
  std::int64_t step_cost_base_us = 20000;
  std::int64_t step_cost_per_token_us = 30;

  PolicySet policies;
};

// Does the length of a draft list vary? On runner V1 ngram drafts only what it finds; on V2 what it
// does not find is filled up to K (semantics: draft-methods).
inline bool draft_lists_vary(const EngineConfig& config) {
  return config.speculative_method == SpeculativeMethod::ngram && config.runner == ModelRunner::v1;
}

}  // namespace hybridscope
