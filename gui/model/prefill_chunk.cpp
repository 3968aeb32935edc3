#include "gui/model/prefill_chunk.h"

#include <algorithm>

namespace hybridscope {

bool stores_checkpoints(const KVCacheConfig& config) {
  return std::ranges::any_of(config.groups, [](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0;
  });
}

std::optional<RanChunk> prefill_chunk(const StepTrace& trace, const RowTrace& row) {
  if (row.row_class != RowClass::prefill || row.scheduled < 0) return std::nullopt;
  const std::int32_t start = row.num_computed_tokens;
  return RanChunk{start, start + trace.scheduled_of(row).num_scheduled_tokens};
}

}  // namespace hybridscope
