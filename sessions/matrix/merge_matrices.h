// Results of shards, or of runs with other filters, as one matrix.
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

// The cells of all; of each fault the smallest scenario, whose file is told with its folder, and no
// accidents (is_accident). Header of the first with shard 1/1. Errors: invalid_input when two do
// not belong together, or say different things of one cell.
Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources);

}  // namespace hybridscope
