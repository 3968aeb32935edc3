// Merges the results of shards, or of runs with other filters, into one matrix.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_file.h"

namespace hybridscope {

struct MatrixSource {
  std::string folder;
  MatrixContents contents;
};

// All cells; for each fault the smallest scenario, its file given with its folder; no accidents
// (is_accident). The header is the first one's, with shard 1/1. Errors: invalid_input when two
// sources do not belong together or disagree about a cell.
Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources);

}  // namespace hybridscope
