// Plans and matrices whose runs are made elsewhere, in any order. Nothing here knows Python.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/matrix_job.h"
#include "sessions/job/plan_job.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/plan/plan_file.h"

namespace hybridscope {

// A plan whose combinations are run elsewhere.

// What one job does: runs the combination of this name, which may end in the suffix of another step
// time, and returns its line of the result file. `run`: of job.options, or as there. Error: there
// is no such combination; those of run_plan_case; go_on ended it.
Result<std::string> run_plan_job(PlanJob& job, const std::string& name, PlanRunOptions run);

class PlanBook {
 public:
  // With options.out the results are kept there, and what is there is gone on with. Errors: those
  // of make_plan_job and of PlanFile::open.
  static Result<PlanBook> create(const PlanJobOptions& options);

  // Names for run_plan_job, in the order of the sweep.
  std::vector<std::string> missing() const;
  // Error: no such line; the file cannot be written.
  Status add(const std::string& line);

  // As `hybridscope plan` prints it.
  nlohmann::ordered_json report() const;
  std::string text() const;

 private:
  PlanBook(PlanJob job, std::optional<PlanFile> file);
  const PlanContents& contents() const { return file_ ? file_->contents() : contents_; }

  PlanJob job_;
  std::optional<PlanFile> file_;
  PlanContents contents_;  // without a file
};

// A matrix whose cells and faults are made elsewhere.

// A fault whose scenario is to be made small, with the results of the cells that show it as lines
// of matrix.jsonl.
struct MissingFault {
  std::string key;
  std::vector<std::string> cells;
};

// A fault as a line of matrix.jsonl, and its scenario.
struct FaultLines {
  std::string fault;
  std::string scenario;
};

// What one job does. `run`: cell_run_options(). Errors: there is no such cell; those of run_cell
// and shrink_fault; a line that is no cell; a key that the cells do not show.
Result<std::string> run_matrix_cell(const std::string& name, const CellRunOptions& run);
Result<FaultLines> shrink_matrix_fault(const MissingFault& fault, const CellRunOptions& run);

class MatrixBook {
 public:
  // With options.folder the results are kept there, and what is there is gone on with. Errors:
  // those of make_matrix_job and of MatrixFile::open.
  static Result<MatrixBook> create(const MatrixJobOptions& options, const Backends& backends);

  std::vector<std::string> missing_cells() const;
  // Whether the cell has findings. Error: not such a line; the file cannot be written.
  Result<bool> add_cell(const std::string& line);
  std::vector<MissingFault> missing_faults() const;
  Status add_fault(const FaultLines& fault);

  // As `hybridscope matrix` prints it.
  nlohmann::ordered_json report() const;
  std::string text() const;
  bool all_safe() const { return summary().all_safe(); }
  // By the file's name in the report. Error: a file of the folder cannot be read.
  Result<std::map<std::string, std::string>> scenarios() const;

 private:
  MatrixBook(MatrixJob job, std::optional<MatrixFile> file);
  const MatrixContents& contents() const { return file_ ? file_->contents() : contents_; }
  MatrixSummary summary() const { return summarize_matrix(contents(), cells_); }

  std::vector<MatrixCell> cells_;
  std::optional<MatrixFile> file_;
  MatrixContents contents_;                       // without a file
  std::map<std::string, std::string> scenarios_;  // without a file
};

}  // namespace hybridscope
