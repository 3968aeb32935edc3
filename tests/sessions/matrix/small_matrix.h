// Parts of the matrix that tests run.
#pragma once

#include <string>
#include <vector>

#include "sessions/matrix/run_matrix.h"

namespace hybridscope::test {

// Requires: there is such a cell.
MatrixCell cell_called(const std::string& name);

// Cells with these values, "mode=align" and the like.
std::vector<MatrixCell> cells_with(const std::vector<std::string>& only);

// The header that belongs to these options.
MatrixHeader header_of(const MatrixOptions& options);

// 4 cells of mode align with mtp2, synchronous, V1, SD, graphs full_and_piecewise: one per
// pressure.
MatrixOptions small_matrix(const EngineProfile& profile, std::int64_t scenarios_per_cell);

}  // namespace hybridscope::test
