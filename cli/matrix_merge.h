// hybridscope matrix --merge.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/matrix_job.h"
#include "sessions/matrix/matrix_file.h"

namespace hybridscope {

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

}  // namespace hybridscope
