#include <algorithm>

#include "core/base/math.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

std::int32_t last_replay_position(std::int32_t num_tokens, std::int32_t alignment,
                                  const ReplayRule& rule) {
  const bool leaves_a_token = !rule.eagle_block_drop || rule.leaves_a_token_with_drop;
  const std::int32_t left = leaves_a_token ? std::max(1, rule.num_hash_lookahead_tokens) : 0;
  const std::int32_t position = floor_div(num_tokens - left, alignment) * alignment;
  return std::max(position - (rule.eagle_block_drop ? alignment : 0), 0);
}

bool can_checkpoint(const PrefillChunk& chunk, std::int32_t position,
                    std::int32_t checkpoint_alignment) {
  if (checkpoint_alignment <= 0 || chunk.start % chunk.hash_block_size != 0) return false;
  const std::int32_t column = cdiv(chunk.end, chunk.block_size) - 2;
  return column > floor_div(chunk.start - 1, chunk.block_size) &&
         chunk.start + chunk.hash_block_size <= position && position < chunk.end &&
         (position - chunk.start) % checkpoint_alignment == 0;
}

}  // namespace hybridscope
