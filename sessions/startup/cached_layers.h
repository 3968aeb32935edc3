// What the layers of a model cache, in the order in which its classes register them; read from a
// config.json, before release, GPU and flags decide any size.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/model/model_spec.h"

namespace hybridscope {

enum class AttentionKind : std::uint8_t { full, mla, sliding_window, chunked_local };

// Keys and values of one attention layer, of all ranks.
struct AttentionCache {
  AttentionKind kind = AttentionKind::full;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_size = 0;         // mla: kv_lora_rank + qk_rope_head_dim
  std::int64_t head_size_v = 0;       // mla: 0, there is one vector
  std::int64_t window = 0;            // tokens: sliding_window, or attention_chunk_size
  std::int64_t qk_rope_head_dim = 0;  // mla: of head_size
  friend bool operator==(const AttentionCache&, const AttentionCache&) = default;
};

// One key for several tokens, by which a sparse attention layer finds tokens. Kind mla; a block has
// as many tokens as those of the attention layer.
struct IndexKeyCache {
  std::int64_t head_size = 0;  // elements of a key
  std::int64_t element_size = 2;
  std::int64_t tokens_per_key = 1;
  friend bool operator==(const IndexKeyCache&, const IndexKeyCache&) = default;
};

// The keys of the last tokens, from which an index key is made: a ring of one block per request.
struct RingCache {
  std::int64_t num_kv_heads = 1;
  std::int64_t head_size = 0;
  std::int64_t tokens_per_key = 1;  // the ring is a multiple of it that also holds the drafts
  bool is_power_of_two = false;     // this many times tokens_per_key
  friend bool operator==(const RingCache&, const RingCache&) = default;
};

// A short convolution over embeddings of n-grams, the same on every rank.
struct PleShortConvCache {
  std::int64_t num_rows = 0;  // without drafts
  std::int64_t width = 0;
  friend bool operator==(const PleShortConvCache&, const PleShortConvCache&) = default;
};

using StateCache = RecurrentDims;

using LayerCache =
    std::variant<AttentionCache, StateCache, IndexKeyCache, RingCache, PleShortConvCache>;

struct CachedLayer {
  LayerCache cache = {};
  std::string name = {};  // "3"; "3:raw_key_cache" of a part of layer 3; "mtp.40"
  bool is_draft = false;

  bool is_state() const {
    return std::holds_alternative<StateCache>(cache) ||
           std::holds_alternative<PleShortConvCache>(cache);
  }
};

// In which dtype temporal states are kept where the user leaves it open.
enum class SsmDtypeRule : std::uint8_t {
  conv,           // that of conv states
  from_config,    // the file's key, StartupModel::ssm_dtype
  kda,            // float32; from 0.30.0 on bfloat16 too where it is asked for
  float32_always  // whatever is asked for
};

// Which prefill kernel, where it runs, stores a state inside a chunk.
enum class CheckpointKernel : std::uint8_t { none, mamba2, gdn_flashinfer, kda_flash };

struct StartupModel {
  std::string name = {};
  std::string architecture = {};
  std::vector<CachedLayer> layers = {};  // target first, draft layers last
  std::int64_t num_hidden_layers = 0;    // of the target, those that cache nothing included
  std::string dtype = "bfloat16";
  SsmDtypeRule ssm_dtype_rule = SsmDtypeRule::conv;
  std::string ssm_dtype = {};
  CheckpointKernel checkpoint_kernel = CheckpointKernel::none;
  std::int64_t head_k_dim = 0;  // of the layers that checkpoint_kernel is about
  bool supports_mode_all = false;
  bool passes_num_spec = true;        // its class hands num_speculative_tokens to the state's shape
  bool has_inner_state_only = false;  // no attention at all
  std::int64_t chunk_size = 0;        // tokens of the scan kernels' chunks; 0: not told
  std::int64_t num_attention_heads = 0;
  std::int64_t max_model_len = 0;          // 0: the file has none
  std::int64_t sparse_block_multiple = 0;  // what the kernels of sparse attention want; 0: nothing
  bool is_block_outermost = false;         // its layers want a layout with the block outermost
  std::int64_t stride_alignment = 1;       // bytes, of a packed block
};

}  // namespace hybridscope
