// Replays planned copies of the golden files on their memory and names its content.
#pragma once

#include <span>

#include "core/state/fused_state_copy.h"
#include "core/state/state_tensor.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "tests/core/state/golden_state.h"

namespace hybridscope::test {

inline void execute(std::span<const StateCopy> copies, GoldenMemory& memory) {
  const auto states = memory.states();
  execute_copies(copies, states);
}

inline void execute(std::span<const RowStateCopy> copies, GoldenMemory& memory) {
  const auto states = memory.states();
  for (const RowStateCopy& planned : copies) execute_copies({&planned.copy, 1}, states);
}

// crc32 of each state's logical elements, [layer][state].
inline Json state_crc32(const MambaStateTensors& tensors, const GoldenMemory& memory) {
  Json json = Json::array();
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer) {
    Json states = Json::array();
    for (std::size_t state = 0; state < tensors.layers[layer].states.size(); ++state)
      states.push_back(
          crc32_of(read_state(tensors.layers[layer].states[state], memory.state(layer, state))));
    json.push_back(states);
  }
  return json;
}

}  // namespace hybridscope::test
