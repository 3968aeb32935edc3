// The states of a StateMemory at an address, and which of them each group has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"
#include "kernels/memory_view.h"

namespace hybridscope {

struct MemoryMap {
  std::vector<StateView> states;         // [num_states]
  std::vector<StateRange> group_states;  // [mamba groups] a group's states are adjacent
  StateRange widest_group;               // the states of the group that uses every buffer
  std::vector<std::int32_t> conv_kinds;  // of a layer: which of its states are conv
  std::vector<std::int32_t> temporal_kinds;
  std::int32_t num_state_types = 0;
  std::int32_t num_blocks = 0;
  std::int32_t conv_kernel = 0;  // W

  std::int32_t num_states() const { return static_cast<std::int32_t>(states.size()); }
  const StateGeometry& geometry(std::int32_t state_index) const {
    return states[static_cast<std::size_t>(state_index)].geometry;
  }
  std::int64_t widest_conv() const;  // positions; 0: no conv state
  std::int32_t num_layers(std::int32_t group_index) const {
    return group_states[static_cast<std::size_t>(group_index)].count / num_state_types;
  }
};

// Buffer i begins at base + i * buffer_bytes(). Errors: elements of another size than 2 and 4
// bytes, W outside 2..kMaxConvKernel where there is a conv state, a temporal state too small for a
// fingerprint. Requires: a memory of make_state_memory.
Result<MemoryMap> make_memory_map(const StateMemory& memory, std::byte* base);

// Points into the map.
MemoryView view_of(const MemoryMap& map);

// Contracts between the code that makes operations and contents and the backends that execute them:
// a broken one throws ContractViolation before any byte changes.

// Groups, blocks, tokens and writes exist, batches are inside their arrays, a bias is not negative.
void expect_valid(const MemoryMap& map, const StateOps& ops);
// Groups and blocks exist, a conv content has a fingerprint for each position of the widest state.
void expect_valid(const MemoryMap& map, const BlockContents& contents);

}  // namespace hybridscope
