// What one group of layers keeps in the KV cache: attention keys and values per token, or recurrent
// state per block (vLLM v1/kv_cache_interface.py). Plain values.
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

}  // namespace hybridscope
