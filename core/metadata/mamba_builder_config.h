// Settings of the metadata builders for recurrent layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// Where prefills store a state inside themselves (semantics: checkpoint-metadata).
struct CheckpointSettings {
  std::int32_t alignment = 0;         // prefill_checkpoint_alignment of the spec; 0: nowhere
  std::int32_t hash_block_size = 16;  // tokens
  std::int32_t hit_alignment = 16;    // tokens: hits end on multiples of it
  ReplayRule replay{};
};

// The engine settings that a builder reads.
struct MambaBuilderConfig {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t block_size = 16;
  std::int32_t num_spec = 0;                // speculative tokens per step, K
  std::int32_t num_speculative_blocks = 0;  // of the KV-cache spec; K in the reference
  std::int32_t max_num_seqs = 1;
  std::int32_t max_model_len = 1;
  std::optional<std::int32_t> max_cudagraph_capture_size{};  // tokens
  bool full_cudagraph = false;                               // the graph mode has full graphs
  bool parallel_drafting = false;  // the drafter also verifies its own slots: twice the tokens
  std::int32_t decode_context_parallel_size = 1;
  std::optional<std::int32_t> chunk_size{};  // Mamba2 only: tokens per chunk of the SSD scan
  CheckpointSettings checkpoint{};           // Mamba2 and GDN
};

// Errors: a block size, hit_alignment or decode_context_parallel_size below 1; any other setting
// negative.
Status check_config(const MambaBuilderConfig& config);

// Longest query that the runner may order as a decode (semantics: init-reorder-batch-threshold). At
// least 1. Context parallel decode has no multi-token decode rows, so it resets the value to 1.
constexpr std::int32_t reorder_batch_threshold(const MambaBuilderConfig& config) {
  if (config.decode_context_parallel_size > 1) return 1;
  const std::int32_t factor = config.parallel_drafting ? 2 : 1;
  return std::max(1, 1 + factor * config.num_spec);
}

}  // namespace hybridscope
