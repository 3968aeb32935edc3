// Small state memories and what can happen to them, drawn at random: layouts, element sizes,
// padding, groups, and operations of every kind, including ones that no correct engine makes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/memory_map.h"

namespace hybridscope::test {

// From `least` to `most`, both included.
using Draw = std::function<std::int32_t(std::int32_t least, std::int32_t most)>;

struct MemoryShape {
  ConvStateLayout layout = ConvStateLayout::SD;
  std::int32_t conv_kernel = 4;  // W
  std::int32_t num_blocks = 4;
  std::vector<std::int32_t> group_layers{1};  // layers of each group
  std::vector<StateTensorSpec> states;
  std::int64_t padding_bytes = 0;
};

// Shapes of conv states as SD and DS have them.
StateTensorSpec conv_spec(ConvStateLayout layout, std::int64_t positions, std::int64_t dim,
                          Dtype dtype);
StateTensorSpec temporal_spec(std::vector<std::int64_t> shape, Dtype dtype);

StateMemory make_memory(const MemoryShape& shape);
StateMemory random_memory(const Draw& draw);

// Up to `num_batches` batches of one to five operations.
StateOps random_ops(const Draw& draw, const StateMemory& memory, std::int32_t num_batches);
// Contents of `count` blocks, of both kinds where the memory has them.
BlockContents random_contents(const Draw& draw, const StateMemory& memory, std::int32_t count);

// A naive model of state memory, written from docs/semantics/forward.md element by element: no
// bytes, no order of dimensions, no views. A state is a list of logical elements.

class NaiveState {
 public:
  explicit NaiveState(const StateMemory& memory);

  void run(const StateOps& ops);
  void fill(const BlockContents& contents);
  // All bytes, [num_buffers, num_blocks, page_size_bytes]; padding is poison.
  std::vector<std::byte> bytes() const;

 private:
  // conv: [position][channel] one behind the other.
  using Elements = std::vector<std::uint64_t>;
  struct Kind {
    bool conv = false;
    std::int64_t num_elements = 0;
    std::int64_t positions = 0;
    std::int64_t dim = 0;
    std::int32_t elem_size = 0;
  };
  // Kinds of the layers of a group and the buffer of each layer.
  template <class Use>
  void for_each_state(std::int32_t group_index, const Use& use);
  Elements& at(std::int32_t buffer, std::int32_t block, std::size_t kind);

  void poison(std::int32_t block);
  void copy(std::span<const StateCopyOp> launch);
  void forward(const StateOps& ops, const ForwardRow& row);
  std::vector<std::pair<std::int32_t, Elements>> row_of_temporal(const StateOps& ops,
                                                                 const ForwardRow& row,
                                                                 std::int32_t buffer,
                                                                 std::size_t kind);
  void row_of_conv(const StateOps& ops, const ForwardRow& row, std::int32_t buffer,
                   std::size_t kind);

  const StateMemory& memory_;
  std::vector<Kind> kinds_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::size_t>, Elements> states_;
};

// Writes contents into the memory of a backend, so that tests begin from a state that they choose.

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
