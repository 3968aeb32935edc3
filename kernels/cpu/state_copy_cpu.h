// Executes copy plans on state bytes in host memory, and reads states back without their padding.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/state/state_copy.h"
#include "core/state/state_tensor.h"

namespace hybridscope {

// Bytes of each state tensor from element [0, 0, ...] on, by flat state index. Tensors of one page
// may overlap: each span runs to the end of its buffer.
using StateBytes = std::span<const std::span<std::byte>>;

// Moves the rows of a copy within `state` (element [0, 0, ...] of its tensor), with memmove
// semantics as a whole. Requires: rows do not overlap each other.
void move_rows(const StateCopy& copy, std::byte* state);

// Runs one copy: as if the whole source were read before the destination is written
// (known bug 4). Requires: regions inside the state's bytes; rows do not overlap each other.
void execute_copy(const StateCopy& copy, std::span<std::byte> state);

// Runs the copies in order.
void execute_copies(std::span<const StateCopy> copies, StateBytes states);

// The logical elements of a tensor, dense and row-major, padding left out. Requires: the tensor
// lies inside `state`.
std::vector<std::byte> read_state(const StateTensor& tensor, std::span<const std::byte> state);

}  // namespace hybridscope
