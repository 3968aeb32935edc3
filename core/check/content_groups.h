// In which layers a block's bytes are what symbolic state says. Mamba groups may have different
// numbers of layers, and faulty metadata lets one group write into another's block: then symbolic
// state describes only the layers that both have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope {

class ContentGroups {
 public:
  explicit ContentGroups(const StateMemory& memory);

  // Applies the operations of a step.
  void apply(const StateOps& ops);

  // The mamba group in whose layers symbolic state describes the block's state of this kind.
  std::int32_t of(StateKind kind, std::int32_t block) const {
    return (kind == StateKind::conv ? conv_ : temporal_)[static_cast<std::size_t>(block)];
  }
  std::int32_t num_layers(std::int32_t group_index) const {
    return num_layers_[static_cast<std::size_t>(group_index)];
  }

 private:
  std::int32_t narrower(std::int32_t a, std::int32_t b) const;
  std::int32_t source(StateKind kind, std::int32_t block) const;
  void apply_copies(std::span<const StateCopyOp> copies);
  void apply_row(const StateOps& ops, const ForwardRow& row);

  std::vector<std::int32_t> num_layers_;  // [mamba groups] that are kept in memory
  std::int32_t widest_ = 0;
  std::vector<std::int32_t> temporal_;  // [num_blocks] into the mamba groups
  std::vector<std::int32_t> conv_;
};

}  // namespace hybridscope
