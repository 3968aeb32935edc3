#include "core/model/page_size.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "core/base/math.h"
#include "core/model/state_shape.h"

namespace hybridscope {
namespace {

// Products stay below 2^62 because both factors are cut to kMaxPageBytes + 1 or 2^31 first.
constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();

std::int64_t multiply_saturated(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > (kMaxPageBytes + 1) / b ? kMaxPageBytes + 1 : a * b;
}

struct Range {
  const char* what;
  std::int64_t value = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
};

Status check_range(const Range& range) {
  if (range.value >= range.least && range.value <= range.most) return Ok{};
  return invalid_input(std::string(range.what) + " is " + std::to_string(range.value) +
                       ", expected " + std::to_string(range.least) + " to " +
                       std::to_string(range.most));
}

Status check_input(const BlockSizeInput& input) {
  const Range ranges[] = {
      {"bytes of a token in an attention layer", input.attn_bytes_per_token, 0, kMaxTokens},
      {"bytes of a recurrent layer's state", input.mamba_page, 1, kMaxPageBytes},
      {"kernel block alignment", input.kernel_block_alignment, 1, kMaxTokens},
      {"checkpoint alignment", input.checkpoint_alignment, 1, kMaxTokens},
      {"block_size", input.block_size.value_or(1), 1, kMaxTokens},
      {"mamba_block_size", input.mamba_block_size.value_or(1), 1, kMaxTokens},
      {"chunk_size", input.chunk_size, 0, kMaxTokens},
      {"max_model_len", input.max_model_len, 1, kMaxTokens},
  };
  for (const Range& range : ranges)
    if (Status status = check_range(range); !status) return status;
  return Ok{};
}

// The unit that block_size is a multiple of, and the terms it is computed from.
void choose_granularity(const BlockSizeInput& input, BlockSizeChoice& choice) {
  const bool has_attention = input.attn_bytes_per_token > 0;
  choice.alignment = has_attention
                         ? std::max(input.kernel_block_alignment, input.block_size.value_or(1))
                         : input.block_size.value_or(1);
  if (input.mamba_cache_mode == MambaCacheMode::align)
    choice.alignment = std::lcm(choice.alignment, input.checkpoint_alignment);
  const std::int64_t chunk_size = input.chunk_size > 0 ? input.chunk_size : kChunkSizeWithoutChunks;
  if (input.mamba_cache_mode == MambaCacheMode::all) {
    choice.base_chunk = input.mamba_block_size.value_or(chunk_size);
    // Both are below 2^31, so the lcm fits in 62 bits.
    choice.chunk = std::lcm(choice.base_chunk, choice.alignment);
    choice.granularity = choice.chunk;
  } else if (has_attention || input.block_size) {
    choice.granularity = choice.alignment;
  } else {
    choice.granularity = chunk_size;
  }
}

}  // namespace

Result<std::int64_t> num_kv_heads_per_rank(const AttentionShard& shard) {
  const std::int64_t heads = shard.dims.num_kv_heads;
  const std::int64_t tp = shard.tp_world_size;
  if (heads < 1 || tp < 1)
    return invalid_input("num_kv_heads is " + std::to_string(heads) +
                         " and the tensor parallel size " + std::to_string(tp) +
                         ", expected at least 1 each");
  if (heads % tp == 0) return heads / tp;
  if (tp % heads == 0) return std::int64_t{1};
  return invalid_input("num_kv_heads " + std::to_string(heads) + " and the tensor parallel size " +
                       std::to_string(tp) + ": neither divides the other");
}

Result<std::int64_t> attn_bytes_per_token(const AttentionShard& shard) {
  if (shard.dims.attention_type == AttentionType::mla)
    return (shard.dims.kv_lora_rank + shard.dims.qk_rope_head_dim) * shard.dtype_size;
  const auto heads = num_kv_heads_per_rank(shard);
  if (!heads) return heads.error();
  return 2 * heads.value() * shard.dims.head_size * shard.dtype_size;
}

std::int64_t mamba_page_bytes(std::span<const StateTensorSpec> states) {
  std::int64_t page = 0;
  for (const StateTensorSpec& state : states) {
    std::int64_t bytes = dtype_size_bytes(state.dtype);
    for (const std::int64_t size : state.shape) bytes = multiply_saturated(bytes, size);
    page = std::min(page + bytes, kMaxPageBytes + 1);
  }
  return page;
}

Result<BlockSizeChoice> choose_block_size(const BlockSizeInput& input) {
  if (const Status status = check_input(input); !status) return status.error();
  BlockSizeChoice choice{.mamba_cache_mode = input.mamba_cache_mode,
                         .attn_bytes_per_token = input.attn_bytes_per_token,
                         .mamba_page = input.mamba_page};
  choose_granularity(input, choice);
  if (input.attn_bytes_per_token > 0) {
    choice.min_tokens = cdiv(input.mamba_page, input.attn_bytes_per_token);
    choice.num_granules = cdiv(choice.min_tokens, choice.granularity);
  } else {
    choice.num_granules = 1;
  }
  const std::int64_t granule_limit = kMaxTokens / choice.granularity;
  if (choice.num_granules > granule_limit)
    return invalid_input("the block size would be " + std::to_string(choice.num_granules) + " * " +
                         std::to_string(choice.granularity) + " tokens, more than " +
                         std::to_string(kMaxTokens));
  choice.block_size = choice.num_granules * choice.granularity;
  choice.mamba_block_size =
      input.mamba_cache_mode == MambaCacheMode::none ? input.max_model_len : choice.block_size;
  choice.page_size = input.attn_bytes_per_token > 0 ? choice.block_size * input.attn_bytes_per_token
                                                    : input.mamba_page;
  choice.padding = choice.page_size - choice.mamba_page;
  if (input.mamba_cache_mode == MambaCacheMode::all && input.chunk_size > 0 &&
      choice.mamba_block_size % input.chunk_size != 0)
    return invalid_input(
        "mode all: the mamba block size " + std::to_string(choice.mamba_block_size) +
        " is not a multiple of the model's chunk size " + std::to_string(input.chunk_size) +
        ", so no chunk would end on a block boundary; leave mamba_block_size out "
        "or give a multiple of the chunk size");
  return choice;
}

double padding_waste_percent(const BlockSizeChoice& choice) {
  return 100.0 * static_cast<double>(choice.padding) / static_cast<double>(choice.mamba_page);
}

Status check_align_limits(const AlignLimits& limits) {
  if (limits.mamba_cache_mode != MambaCacheMode::align) return Ok{};
  const std::string block = std::to_string(limits.block_size);
  if (limits.block_size > limits.max_num_batched_tokens)
    return invalid_input("mode align: block_size " + block + " is above max_num_batched_tokens " +
                         std::to_string(limits.max_num_batched_tokens) +
                         ", so no prefill chunk could end on a block boundary; raise "
                         "max_num_batched_tokens to at least " +
                         block);
  if (limits.long_prefill_token_threshold > 0 &&
      limits.long_prefill_token_threshold < limits.block_size)
    return invalid_input("mode align: long_prefill_token_threshold " +
                         std::to_string(limits.long_prefill_token_threshold) +
                         " is below block_size " + block +
                         ", so no prefill chunk could end on a block boundary; set it to 0 (off) "
                         "or at least " +
                         block);
  return Ok{};
}

Result<std::int64_t> num_blocks_from_memory(const BlockPoolMemory& memory) {
  const std::int64_t per_block = multiply_saturated(memory.page_size, memory.group_size);
  if (per_block < 1)
    return invalid_input("a block of " + std::to_string(memory.page_size) + " bytes in " +
                         std::to_string(memory.group_size) + " layers takes no memory");
  const std::int64_t num_blocks =
      std::max<std::int64_t>(memory.kv_cache_memory_bytes, 0) / per_block;
  if (num_blocks < 2)
    return invalid_input(std::to_string(memory.kv_cache_memory_bytes) + " bytes hold " +
                         std::to_string(num_blocks) + " blocks of " + std::to_string(per_block) +
                         " bytes (" + std::to_string(memory.page_size) + " in each of " +
                         std::to_string(memory.group_size) +
                         " layers); at least 2 are needed, the null block and one more");
  return num_blocks;
}

std::int64_t mamba_blocks_per_request(const BlocksPerRequest& request) {
  switch (request.mamba_cache_mode) {
    case MambaCacheMode::none: return 1 + request.num_speculative_tokens;
    case MambaCacheMode::align: return 2 + request.num_speculative_tokens;
    case MambaCacheMode::all:
      return cdiv(request.num_tokens, request.block_size) + request.num_speculative_tokens;
  }
  return 0;
}

std::int64_t attention_blocks_per_request(const BlocksPerRequest& request) {
  return cdiv(request.num_tokens, request.block_size);
}

namespace {

Status check_sizes(const BlockSizeSettings& settings) {
  if (settings.block_size < 1)
    return invalid_input("block_size is " + std::to_string(settings.block_size) +
                         ", expected at least 1");
  if (settings.decode_context_parallel_size < 1)
    return invalid_input("decode_context_parallel_size is " +
                         std::to_string(settings.decode_context_parallel_size) +
                         ", expected at least 1");
  for (const GroupBlockSize& group : settings.groups)
    if (group.block_size < 1)
      return invalid_input("a group's block size is " + std::to_string(group.block_size) +
                           ", expected at least 1");
  return Ok{};
}

Result<std::int64_t> lcm_of_groups(std::span<const GroupBlockSize> groups) {
  std::int64_t result = 1;
  for (const GroupBlockSize& group : groups) {
    const std::int64_t factor = group.block_size / std::gcd(result, group.block_size);
    if (factor > std::numeric_limits<std::int64_t>::max() / result)
      return invalid_input(
          "the least common multiple of the groups' block sizes does not fit in 63 bits");
    result *= factor;
  }
  return result;
}

// Do tokens have to be hashed on a grid finer than the scheduler's?
bool hashes_on_group_grid(const BlockSizeSettings& settings) {
  if (!settings.enable_prefix_caching && !settings.kv_connector) return false;
  for (const GroupBlockSize& group : settings.groups)
    if (group.type == GroupType::mamba && group.block_size != settings.block_size) return false;
  return true;
}

}  // namespace

Result<SchedulerBlockSizes> resolve_block_sizes(const BlockSizeSettings& settings) {
  if (const Status status = check_sizes(settings); !status) return status.error();
  if (settings.groups.size() <= 1) {
    if (settings.block_size >
        std::numeric_limits<std::int64_t>::max() / settings.decode_context_parallel_size)
      return invalid_input("block_size * decode_context_parallel_size does not fit in 63 bits");
    const std::int64_t size = settings.block_size * settings.decode_context_parallel_size;
    return SchedulerBlockSizes{size, size};
  }
  if (settings.decode_context_parallel_size != 1)
    return invalid_input("decode_context_parallel_size is " +
                         std::to_string(settings.decode_context_parallel_size) + " with " +
                         std::to_string(settings.groups.size()) +
                         " groups; only models with one group can use it");
  const auto scheduler = lcm_of_groups(settings.groups);
  if (!scheduler) return scheduler.error();
  if (!hashes_on_group_grid(settings))
    return SchedulerBlockSizes{scheduler.value(), scheduler.value()};

  std::int64_t gcd = 0;
  for (const GroupBlockSize& group : settings.groups) gcd = std::gcd(gcd, group.block_size);
  const std::int64_t hash = settings.hash_block_size.value_or(gcd);
  if (hash < 1 || gcd % hash != 0)
    return invalid_input("prefix_match_unit is " + std::to_string(hash) +
                         ", which does not divide every group's block size (their greatest common "
                         "divisor is " +
                         std::to_string(gcd) + ")");
  return SchedulerBlockSizes{scheduler.value(), hash};
}

}  // namespace hybridscope
