// A naive model of state memory, written from docs/semantics/forward.md element by element: no
// bytes, no order of dimensions, no views. A state is a list of logical elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope::test {

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

}  // namespace hybridscope::test
