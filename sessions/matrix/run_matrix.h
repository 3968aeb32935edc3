// Runs the cells of a matrix on several threads, then makes each fault that was found small.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/run_cell.h"

namespace hybridscope {

struct MatrixProgress {
  bool shrinking = false;  // cells are done, faults are made small
  std::int64_t done = 0;
  std::int64_t all = 0;
  std::int64_t num_scenarios = 0;      // run by this call
  std::int64_t num_with_findings = 0;  // cells
};

struct MatrixOptions {
  CellRunOptions run = {};  // go_on may be asked by several threads at once
  std::vector<MatrixCell> cells = {};
  std::int32_t num_threads = 1;
  bool shrink = true;
  // Told by one thread at a time; may be empty.
  std::function<void(const MatrixProgress&)> progress = {};
};

// Cells that the file has are not run again, and neither are its faults. What the result is does
// not depend on the number of threads. False: go_on said so; what is finished is in the file.
// Errors: those of the file and of run_cell.
Result<bool> run_matrix(const MatrixOptions& options, MatrixFile& file);

// The second half of it: makes small the faults that the cells of the file found and it has no
// scenario of.
Result<bool> shrink_faults(const MatrixOptions& options, MatrixFile& file);

}  // namespace hybridscope
