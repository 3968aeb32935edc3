// The scenarios that a matrix would run, as files.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "sessions/matrix/run_matrix.h"

namespace hybridscope {

// Writes FOLDER/CELL-INDEX.json for each scenario of each cell of `options` that is run, with "-"
// for "/" in the cell's name; says how many. The folder is made. Ends early where
// `options.run.go_on` says so. Error not_available: a file cannot be written.
Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder);

}  // namespace hybridscope
