// Small random scenarios of a cell: each presses on what the cell says, and its lengths lie around
// block boundaries and draft windows, where things go wrong.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

inline constexpr std::int32_t kSmallestRandomBlock = 4;  // tokens

// The same cell and seed give the same scenario everywhere, for ever. Its profile is left to the
// caller. Requires: an engine starts with the cell's settings (refusal_of), and the cell stands for
// itself.
Scenario random_scenario(const MatrixCell& cell, std::uint64_t seed);

// 16 hex digits of one scenario of each cell that is run: programs in which it differs make other
// scenarios of the same seed.
std::string random_scenarios_digest();

}  // namespace hybridscope
