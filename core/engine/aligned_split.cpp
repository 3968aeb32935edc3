#include <algorithm>

#include "core/base/math.h"
#include "core/engine/scheduler.h"

namespace hybridscope {

std::int32_t mamba_block_aligned_split(const AlignedSplitInputs& inputs) {
  const std::int32_t block_size = inputs.block_size;
  const std::int32_t computed = inputs.num_computed_tokens + inputs.num_new_local_computed_tokens +
                                inputs.num_external_computed_tokens;
  std::int32_t num_new_tokens = inputs.num_new_tokens;
  if (computed >= std::max(inputs.num_prompt_tokens, inputs.num_tokens - 1)) return num_new_tokens;

  std::int32_t last_cache_position = round_down(inputs.num_tokens, block_size);
  if (inputs.use_eagle) last_cache_position = std::max(last_cache_position - block_size, 0);
  const std::int32_t after = computed + num_new_tokens;
  if (after < last_cache_position)
    num_new_tokens = round_down(num_new_tokens, block_size);
  else if (computed < last_cache_position && last_cache_position < after)
    num_new_tokens = last_cache_position - computed;

  const std::int32_t uncached = inputs.num_uncached_common_prefix_tokens;
  if (uncached >= block_size && num_new_tokens > uncached)
    num_new_tokens = round_down(uncached, block_size);
  return num_new_tokens;
}

std::int32_t mamba_block_aligned_split_on_grid(const AlignedSplitInputs& inputs) {
  const std::int32_t num_new_tokens = mamba_block_aligned_split(inputs);
  const std::int32_t computed = inputs.num_computed_tokens + inputs.num_new_local_computed_tokens +
                                inputs.num_external_computed_tokens;
  if (computed >= std::max(inputs.num_prompt_tokens, inputs.num_tokens - 1)) return num_new_tokens;
  const std::int32_t end = computed + num_new_tokens;
  if (computed % inputs.block_size != 0) {
    const std::int32_t boundary = round_up(computed, inputs.block_size);
    if (end >= inputs.num_tokens && inputs.num_tokens <= boundary) return num_new_tokens;
    return end >= boundary ? boundary - computed : 0;
  }
  if (end >= inputs.num_tokens) return num_new_tokens;
  return std::max(round_down(end, inputs.block_size) - computed, 0);
}

}  // namespace hybridscope
