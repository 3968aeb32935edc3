// Where the recurrent state of a model is: one strided tensor per layer and kind of state, as the
// engine hands them out. Plain descriptions that own no bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/kv_cache_spec.h"
#include "core/model/state_shape.h"

namespace hybridscope {

// [num_blocks, ...]. With page padding, or when several states share a page, stride[0] is the page.
struct StateTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // elements, one per dimension
  std::int32_t elem_size = 0;        // bytes

  // Logical elements of one block.
  std::int64_t elements_per_block() const {
    std::int64_t count = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) count *= shape[i];
    return count;
  }
  std::int64_t block_stride_bytes() const { return stride.at(0) * elem_size; }
};

// The states of one recurrent layer, in the order of the model's state shapes.
struct MambaLayerStates {
  std::int32_t group_index = 0;  // into MambaStateTensors::mamba_group_ids
  std::vector<StateTensor> states;
};

struct MambaStateTensors {
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  std::int32_t block_size = 0;                // of the mamba groups' common spec
  std::vector<std::int32_t> mamba_group_ids;  // KV cache group numbers, ascending
  // One per state of a layer; nullopt: a copy function that is neither of the two known ones.
  std::vector<std::optional<StateKind>> state_kinds;
  std::vector<MambaLayerStates> layers;  // in order of group, then of layer

  std::int32_t num_states() const {
    return static_cast<std::int32_t>(layers.size() * state_kinds.size());
  }
};

}  // namespace hybridscope
