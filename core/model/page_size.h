// Derives the block size and the page size of a hybrid model from what its layers cache
// (semantics: block-and-page-size). Every intermediate term is kept, so that the choice can be
// explained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/model/model_spec.h"

namespace hybridscope {

struct AttentionShard {
  AttentionDims dims = {};
  std::int64_t tp_world_size = 1;
  std::int64_t dtype_size = 2;  // bytes of an element
};

// KV heads on one rank: num_kv_heads / tp, or 1 when tp is a multiple of num_kv_heads. Error:
// neither divides the other.
Result<std::int64_t> num_kv_heads_per_rank(const AttentionShard& shard);

// Bytes of one token in one attention layer: 2 * kv_heads * head_size * dtype_size, and for MLA
// (kv_lora_rank + qk_rope_head_dim) * dtype_size. Error: that of num_kv_heads_per_rank.
Result<std::int64_t> attn_bytes_per_token(const AttentionShard& shard);

// Bytes of one block's states in one recurrent layer, without padding: sum of prod(shape) * size.
// A larger size than kMaxPageBytes is returned as kMaxPageBytes + 1, which choose_block_size
// refuses.
inline constexpr std::int64_t kMaxPageBytes = std::int64_t{1} << 50;
std::int64_t mamba_page_bytes(std::span<const StateTensorSpec> states);

// The chunk size that mode all rounds to for kernels without chunks (mamba1); the reference's
// get_mamba_chunk_size returns the same.
inline constexpr std::int64_t kChunkSizeWithoutChunks = 2048;

struct BlockSizeInput {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int64_t attn_bytes_per_token = 0;              // 0: the model has no attention layer
  std::int64_t mamba_page = 0;                        // bytes
  std::int64_t kernel_block_alignment = 16;           // attention kernel's smallest block
  std::int64_t checkpoint_alignment = 1;              // mode align: blocks are a multiple of it
  std::optional<std::int64_t> block_size = {};        // the user's, or the model's default
  std::optional<std::int64_t> mamba_block_size = {};  // the user's; only mode all asks for it
  std::int64_t chunk_size = 0;                        // 0: the kernels have no chunks
  std::int64_t max_model_len = 0;
};

// The terms in the order in which they are computed.
struct BlockSizeChoice {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int64_t attn_bytes_per_token = 0;
  std::int64_t mamba_page = 0;
  // lcm(max(kernel_block_alignment, user's block size), checkpoint_alignment)
  std::int64_t alignment = 0;
  std::int64_t base_chunk = 0;        // mode all: user's mamba block size, else chunk size
  std::int64_t chunk = 0;             // mode all: lcm(base_chunk, alignment)
  std::int64_t min_tokens = 0;        // ceil(mamba_page / attn_bytes_per_token)
  std::int64_t granularity = 0;       // what block_size is a multiple of: alignment or chunk
  std::int64_t num_granules = 0;      // block_size / granularity
  std::int64_t block_size = 0;        // tokens per attention block
  std::int64_t mamba_block_size = 0;  // tokens between two snapshots
  std::int64_t page_size = 0;         // bytes a block takes in every layer
  std::int64_t padding = 0;           // page_size - mamba_page
  friend bool operator==(const BlockSizeChoice&, const BlockSizeChoice&) = default;
};

// Error: a term below its minimum, or (known bug 26) mode all with a mamba block size that the
// chunk size does not divide.
// Without attention layers no page has to match: block_size is the user's, else the chunk size; the
// page is exactly mamba_page; mode all takes the lcm as above.
Result<BlockSizeChoice> choose_block_size(const BlockSizeInput& input);

// Padding in percent of mamba_page.
double padding_waste_percent(const BlockSizeChoice& choice);

struct AlignLimits {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int64_t block_size = 0;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t long_prefill_token_threshold = 0;  // 0: off
};
// Mode align requires block_size <= max_num_batched_tokens and a long-prefill threshold of at least
// block_size; otherwise a chunk could never reach a block boundary.
Status check_align_limits(const AlignLimits& limits);

struct BlockPoolMemory {
  std::int64_t kv_cache_memory_bytes = 0;
  std::int64_t page_size = 0;
  std::int64_t group_size = 0;  // layer slots of a group
};
// floor(memory / (page_size * group_size)), the null block included. Error: fewer than 2 blocks.
Result<std::int64_t> num_blocks_from_memory(const BlockPoolMemory& memory);

struct BlocksPerRequest {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int64_t num_tokens = 0;  // the request's length
  std::int64_t block_size = 1;
  std::int64_t num_speculative_tokens = 0;
};
// Blocks one mamba group may hold for a request: none 1+K, align 2+K, all
// ceil(tokens/block_size)+K.
std::int64_t mamba_blocks_per_request(const BlocksPerRequest& request);
// Blocks an attention group holds for it: ceil(tokens / block_size).
std::int64_t attention_blocks_per_request(const BlocksPerRequest& request);

// The two block sizes the scheduler uses besides the groups' own: the granularity at which all
// groups share a prefix, and the granularity at which tokens are hashed (vLLM
// v1/core/kv_cache_utils.py; the rule was derived from the reference's recorded outputs).

enum class GroupType : std::uint8_t { full, mamba };

struct GroupBlockSize {
  GroupType type = GroupType::full;
  std::int64_t block_size = 0;
};

struct BlockSizeSettings {
  std::int64_t block_size = 0;  // cache_config.block_size
  bool enable_prefix_caching = false;
  std::optional<std::int64_t> hash_block_size = {};  // the user's request
  std::int64_t decode_context_parallel_size = 1;
  bool kv_connector = false;  // a KV transfer config exists
  std::span<const GroupBlockSize> groups = {};
};

struct SchedulerBlockSizes {
  std::int64_t scheduler_block_size = 0;
  std::int64_t hash_block_size = 0;
  friend bool operator==(const SchedulerBlockSizes&, const SchedulerBlockSizes&) = default;
};

// At most one group: both are block_size * decode_context_parallel_size; a requested size is
// ignored. Several groups: scheduler = lcm of the group block sizes; hash = the request or else
// their gcd, but = scheduler when hashes are not needed (no caching, no connector) or when some
// mamba group's block size is not cache_config.block_size. Error: several groups with context
// parallelism, or a request that does not divide each group's block size; a size below 1; an lcm
// beyond 63 bits.
Result<SchedulerBlockSizes> resolve_block_sizes(const BlockSizeSettings& settings);

}  // namespace hybridscope
