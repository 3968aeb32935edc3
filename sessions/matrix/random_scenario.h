// Small random scenarios of a cell: each applies the cell's pressure, and its lengths are close to
// block boundaries and draft windows, where faults occur.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

inline constexpr std::int32_t kSmallestRandomBlock = 4;  // tokens

// A random scenario; equal cells and seeds give equal scenarios on every machine and in every
// release. The caller sets the profile. Requires: an engine starts with the cell's settings
// (refusal_of), and the cell does not reduce to another one (stands_for).
Scenario random_scenario(const MatrixCell& cell, std::uint64_t seed);

}  // namespace hybridscope
