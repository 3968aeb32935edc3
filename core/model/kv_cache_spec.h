// What one group of layers keeps in the KV cache: attention keys and values per token, or recurrent
// state per block (vLLM v1/kv_cache_interface.py); also which states prefills store. Plain values.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace hybridscope {

enum class Dtype : std::uint8_t { float16, bfloat16, float32 };

// cache_config.mamba_cache_mode.
enum class MambaCacheMode : std::uint8_t { none, all, align };

// Which metadata builder and which state shapes a recurrent layer uses (MambaSpec.mamba_type).
enum class MambaType : std::uint8_t {
  mamba1,
  mamba2,
  linear_attention,
  short_conv,
  gdn_attention,
  kda
};

// The two kinds of state tensor: a sliding window of conv inputs, or one recurrent state per block.
enum class StateKind : std::uint8_t { conv, temporal };

// One state tensor of a recurrent layer, per block.
struct StateTensorSpec {
  StateKind kind = StateKind::temporal;
  std::vector<std::int64_t> shape;  // without the block dimension; conv: SD or DS oriented
  Dtype dtype = Dtype::bfloat16;
  friend bool operator==(const StateTensorSpec&, const StateTensorSpec&) = default;
};

struct FullAttentionSpec {
  std::int32_t block_size = 16;      // tokens per block
  std::int64_t page_size_bytes = 0;  // bytes per block in one layer
  friend bool operator==(const FullAttentionSpec&, const FullAttentionSpec&) = default;
};

struct MambaSpec {
  std::int32_t block_size = 16;         // tokens between two snapshots; mode none: max_model_len
  std::vector<StateTensorSpec> states;  // in the order the reference returns the shapes
  MambaType mamba_type = MambaType::mamba2;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t num_speculative_blocks = 0;
  // Blocks for states that the layers' kernels store inside a prefill (0 or 1), and the tokens
  // between two places where they can, counted from the chunk's start (0: nowhere).
  std::int32_t num_prefill_checkpoint_blocks = 0;
  std::int32_t prefill_checkpoint_alignment = 0;
  std::int64_t page_size_bytes = 0;  // padded to the attention page
  friend bool operator==(const MambaSpec&, const MambaSpec&) = default;
};

using KVCacheSpec = std::variant<FullAttentionSpec, MambaSpec>;

// Layers that share one block table per request: a block id stands for one page in each of them.
struct KVCacheGroup {
  KVCacheSpec spec;
  std::vector<std::int32_t> layers;  // layer numbers in the model, ascending
  bool is_eagle_group = false;

  bool is_mamba() const { return std::holds_alternative<MambaSpec>(spec); }
  std::int32_t block_size() const {
    return is_mamba() ? std::get<MambaSpec>(spec).block_size
                      : std::get<FullAttentionSpec>(spec).block_size;
  }
};

struct KVCacheConfig {
  std::int32_t num_blocks = 0;  // of the one pool all groups share, the null block included
  std::vector<KVCacheGroup> groups;
};

// Where the state of a prefill is stored besides its end (semantics: prefill-checkpoint; vLLM
// v1/kv_cache_interface.py and v1/core/sched/scheduler.py, from release 0.29.0 on).

// The prefill kernel of GatedDeltaNet layers.
enum class GdnPrefillBackend : std::uint8_t { triton, flashinfer };

// What decides how many of the last tokens a resend of the prompt computes again.
struct ReplayRule {
  bool eagle_block_drop = false;               // the draft model's last block is dropped from a hit
  std::int32_t num_hash_lookahead_tokens = 0;  // that a block's hash covers besides its own
  // 0.30.0 and 0.31.0: the last token is left out before the drop as well, not instead of it.
  bool leaves_a_token_with_drop = false;
};

// The last multiple of `alignment` among `num_tokens` tokens that a resend can hit; at least 0.
// Requires: alignment > 0.
std::int32_t last_replay_position(std::int32_t num_tokens, std::int32_t alignment,
                                  const ReplayRule& rule);

// A chunk [start, end) of a prefill, in tokens.
struct PrefillChunk {
  std::int32_t start = 0;
  std::int32_t end = 0;
  std::int32_t block_size = 16;
  std::int32_t hash_block_size = 16;
};

// Can the state after `position` tokens be stored while the chunk runs, in the column before its
// last one? `checkpoint_alignment`: tokens between two positions at which the layer's kernel can
// store a state, counted from the chunk's start; 0: it cannot.
bool can_checkpoint(const PrefillChunk& chunk, std::int32_t position,
                    std::int32_t checkpoint_alignment);

}  // namespace hybridscope
