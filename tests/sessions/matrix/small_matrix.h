// Parts of the matrix that tests run.
#pragma once

#include <string>
#include <vector>

#include "sessions/matrix/run_matrix.h"

namespace hybridscope::test {

// Requires: there is such a cell.
inline MatrixCell cell_called(const std::string& name) { return parse_cell(name).value(); }

// Cells with these values, "mode=align" and the like.
inline std::vector<MatrixCell> cells_with(const std::vector<std::string>& only) {
  CellFilter filter;
  for (const std::string& text : only) (void)filter.add(text).value();
  std::vector<MatrixCell> cells;
  for (const MatrixCell& cell : all_cells())
    if (filter.takes(cell)) cells.push_back(cell);
  return cells;
}

// The header that belongs to these options.
inline MatrixHeader header_of(const MatrixOptions& options) {
  return {.engine = engine_profile_name(options.run.profile),
          .seed = options.run.seed,
          .scenarios_per_cell = options.run.num_scenarios,
          .program = "test",
          .shard = "1/1"};
}

// 4 cells of mode align with mtp2, synchronous, V1, SD, graphs full_and_piecewise: one per
// pressure.
inline MatrixOptions small_matrix(const EngineProfile& profile, std::int64_t scenarios_per_cell) {
  MatrixOptions options;
  options.run.profile = profile;
  options.run.num_scenarios = scenarios_per_cell;
  options.cells = cells_with({"mode=align", "speculation=mtp2", "prefix_caching=on", "layout=SD",
                              "runner=v1", "scheduling=sync", "graphs=full_and_piecewise",
                              "retention=dense", "match_unit=block", "checkpoints=none"});
  return options;
}

}  // namespace hybridscope::test
