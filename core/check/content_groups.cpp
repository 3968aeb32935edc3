#include "core/check/content_groups.h"

#include <algorithm>

namespace hybridscope {

ContentGroups::ContentGroups(const StateMemory& memory)
    : num_layers_(memory.tensors.mamba_group_ids.size(), 0) {
  for (const MambaLayerStates& layer : memory.tensors.layers)
    ++num_layers_[static_cast<std::size_t>(layer.group_index)];
  widest_ = static_cast<std::int32_t>(std::max_element(num_layers_.begin(), num_layers_.end()) -
                                      num_layers_.begin());
  temporal_.assign(static_cast<std::size_t>(memory.num_blocks), widest_);
  conv_ = temporal_;
}

std::int32_t ContentGroups::narrower(std::int32_t a, std::int32_t b) const {
  return num_layers(b) < num_layers(a) ? b : a;
}

// A source that is not a block is the same in every layer.
std::int32_t ContentGroups::source(StateKind kind, std::int32_t block) const {
  return block < 0 ? widest_ : of(kind, block);
}

// Reads all sources first.
void ContentGroups::apply_copies(std::span<const StateCopyOp> copies) {
  struct Read {
    std::int32_t temporal = 0;
    std::int32_t conv = 0;
  };
  std::vector<Read> reads;
  for (const StateCopyOp& copy : copies)
    reads.push_back(
        {narrower(copy.group_index, source(StateKind::temporal, copy.temporal_src_block)),
         narrower(copy.group_index, source(StateKind::conv, copy.conv_src_block))});
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto dst = static_cast<std::size_t>(copies[i].dst_block);
    temporal_[dst] = reads[i].temporal;
    // A shift leaves the last positions as they are.
    conv_[dst] =
        copies[i].accept_token_bias == 0 ? reads[i].conv : narrower(reads[i].conv, conv_[dst]);
  }
}

void ContentGroups::apply_row(const StateOps& ops, const ForwardRow& row) {
  const std::int32_t temporal =
      narrower(row.group_index, source(StateKind::temporal, row.temporal_src_block));
  const std::int32_t conv = narrower(row.group_index, source(StateKind::conv, row.conv_src_block));
  for (std::int32_t i = row.first_write; i < row.first_write + row.num_writes; ++i) {
    const ForwardWrite& write = ops.writes[static_cast<std::size_t>(i)];
    const auto block = static_cast<std::size_t>(write.block);
    if (write.kind == ForwardWriteKind::temporal)
      temporal_[block] = temporal;
    else
      conv_[block] = narrower(conv, conv_[block]);  // positions past the window stay
  }
}

void ContentGroups::apply(const StateOps& ops) {
  for (const StateOpBatch& batch : ops.batches) {
    const auto first = static_cast<std::size_t>(batch.first);
    const auto end = static_cast<std::size_t>(batch.first + batch.count);
    switch (batch.kind) {
      case StateOpKind::poison:
        for (std::size_t i = first; i < end; ++i) {
          temporal_[static_cast<std::size_t>(ops.poisoned[i])] = widest_;
          conv_[static_cast<std::size_t>(ops.poisoned[i])] = widest_;
        }
        break;
      case StateOpKind::copy:
        apply_copies(std::span(ops.copies).subspan(first, end - first));
        break;
      case StateOpKind::forward:
        for (std::size_t i = first; i < end; ++i) apply_row(ops, ops.rows[i]);
        break;
    }
  }
}

}  // namespace hybridscope
