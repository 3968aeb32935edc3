// Executes copy plans on state bytes in host memory.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/result.h"
#include "core/state/state_copy.h"
#include "core/state/state_layout.h"

namespace hybridscope {

// Moves the rows of a copy within `state` (element [0, 0, ...] of its tensor), with memmove
// semantics as a whole. Requires: rows do not overlap each other.
void move_rows(const StateCopy& copy, std::byte* state);

// Runs one copy: as if the whole source were read before the destination is written
// (known bug 4). Requires: regions inside the state's bytes; rows do not overlap each other.
void execute_copy(const StateCopy& copy, std::span<std::byte> state);

// Runs the copies in order. Always Ok, which lets it stand beside copies on a device. Requires:
// those of execute_copy; states that exist.
Status execute_copies(std::span<const StateCopy> copies, HostStateBytes states);

}  // namespace hybridscope
