#include "sessions/judge/trace_limits.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {

TraceLimits make_trace_limits(const EngineConfig& config) {
  TraceLimits limits{.num_blocks = config.kv_cache_config.num_blocks,
                     .num_speculative_tokens = config.num_speculative_tokens,
                     .max_num_seqs = config.max_num_seqs,
                     .max_num_batched_tokens = config.max_num_batched_tokens,
                     .max_tokens = config.max_model_len + 1 + config.num_speculative_tokens};
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    std::int32_t spec_blocks = config.num_speculative_tokens;
    if (group.is_mamba())
      spec_blocks = std::max(spec_blocks, std::get<MambaSpec>(group.spec).num_speculative_blocks);
    const std::int32_t columns = cdiv(config.max_model_len, group.block_size()) + 1 + spec_blocks;
    limits.max_columns.push_back(columns);
    limits.is_mamba.push_back(group.is_mamba());
    if (group.is_mamba()) limits.max_mamba_columns = std::max(limits.max_mamba_columns, columns);
  }
  return limits;
}

}  // namespace hybridscope
