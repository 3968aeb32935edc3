// hybridscope matrix --merge.
#pragma once

#include <functional>
#include <string>

#include "cli/matrix_job.h"
#include "core/base/result.h"
#include "sessions/matrix/matrix_file.h"

namespace hybridscope {

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
