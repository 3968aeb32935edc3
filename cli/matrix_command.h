// hybridscope matrix: which combinations of settings are safe in an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/matrix_job.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/run_matrix.h"

namespace hybridscope {

// hybridscope matrix --merge.

struct MatrixCommandOptions : MatrixJobOptions {
  std::vector<std::string> merge;
  std::string html;
  std::string scenario_folder;  // not empty: the scenarios are written there, and not run
  bool json = false;
  bool list = false;
  bool quiet = false;
};

struct MergedMatrix {
  MatrixContents contents;
  std::string folder;        // of its faults' files; empty: each fault has its own
  bool interrupted = false;  // not all of its faults are shrunk yet
};

// The results of the folders of `options.merge` as one. With `options.folder` they are written
// there, and their faults made small as one run of all cells makes them; what an interrupted merge
// had written is continued. Errors: those of read_matrix, merge_matrices, shrink_options_of and
// MatrixFile; invalid_input when the folder has faults of other cells.
Result<MergedMatrix> merge_folders(const MatrixCommandOptions& options,
                                   const std::function<void(const MatrixProgress&)>& progress);

// The scenarios that a matrix would run, as files.

// Writes FOLDER/CELL-INDEX.json for each scenario of each cell of `options` that is run, with "-"
// for "/" in the cell's name; says how many. The folder is made. Ends early where
// `options.run.go_on` says so. Error not_available: a file cannot be written.
Result<std::int64_t> write_matrix_scenarios(const MatrixOptions& options,
                                            const std::string& folder);

// Options and examples; the function runs the command. `backends` must outlive it.
std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends);

}  // namespace hybridscope
