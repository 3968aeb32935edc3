// Runs the cells of a matrix on several threads, then shrinks each fault that was found.
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
  bool shrinking = false;  // all cells are done; faults are being shrunk
  std::int64_t done = 0;
  std::int64_t all = 0;
  std::int64_t num_scenarios = 0;      // scenarios run by this call
  std::int64_t num_with_findings = 0;  // number of cells
};

struct MatrixOptions {
  CellRunOptions run = {};  // go_on may be called by several threads at once
  std::vector<MatrixCell> cells = {};
  std::int32_t num_threads = 1;
  bool shrink = true;
  // Called by one thread at a time; may be empty.
  std::function<void(const MatrixProgress&)> progress = {};
};

// Cells and faults that the file already has are not run again. The result does not depend on the
// number of threads. False: go_on ended it; finished results are in the file. Errors: those of the
// file and of run_cell.
Result<bool> run_matrix(const MatrixOptions& options, MatrixFile& file);

// The second half of run_matrix: shrinks the faults that the file's cells found but that have no
// scenario yet.
Result<bool> shrink_faults(const MatrixOptions& options, MatrixFile& file);

// Merges the results of shards, or of runs with other filters, into one matrix.

struct MatrixSource {
  std::string folder;
  MatrixContents contents;
};

// All cells; for each fault the smallest scenario, its file given with its folder; no accidents
// (is_accident). The header is the first one's, with shard 1/1. Errors: invalid_input when two
// sources do not belong together or disagree about a cell.
Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources);

}  // namespace hybridscope
