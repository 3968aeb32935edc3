// hybridscope matrix: which combinations of settings are safe in an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/matrix/run_matrix.h"

namespace hybridscope {

// The scenarios that a matrix would run, as files.

// Writes FOLDER/CELL-INDEX.json for each scenario of each cell of `options` that is run, with "-"
// for "/" in the cell's name; says how many. The folder is made. Ends early where
// `options.run.go_on` says so. Error not_available: a file cannot be written.
Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder);

// Options and examples; the function runs the command. `backends` must outlive it.
std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends);

}  // namespace hybridscope
