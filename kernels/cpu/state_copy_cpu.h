// Executes copy plans on state bytes in host memory.
#pragma once

#include <cstddef>
#include <span>

#include "core/state/state_copy.h"

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

}  // namespace hybridscope
