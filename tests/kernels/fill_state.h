// Writes contents into the memory of a backend, so that tests begin from a state that they choose.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cpu/elements_cpu.h"
#include "kernels/memory_map.h"

namespace hybridscope::test {

// Calls write(offset in the memory, bytes) for each state that the contents name, in order.
template <class Write>
void for_each_filled_state(const StateMemory& memory, const BlockContents& contents,
                           const Write& write) {
  std::byte begin{};
  const MemoryMap map = make_memory_map(memory, &begin).value();
  std::vector<std::byte> image;
  for (const BlockContent& content : contents.blocks) {
    const StateRange& group = map.group_states[static_cast<std::size_t>(content.group_index)];
    for (std::int32_t i = group.first; i < group.first + group.count; ++i) {
      const StateView& state = map.states[static_cast<std::size_t>(i)];
      if (state.geometry.is_conv() != (content.kind == StateKind::conv)) continue;
      make_trace_image(state, content, contents.conv_fingerprints, image);
      write(state.block(content.block) - &begin, image);
    }
  }
}

inline void fill_state(CpuStateBackend& backend, const BlockContents& contents) {
  for_each_filled_state(backend.memory(), contents,
                        [&](std::ptrdiff_t offset, const std::vector<std::byte>& image) {
                          std::ranges::copy(image, backend.bytes().begin() + offset);
                        });
}

}  // namespace hybridscope::test
