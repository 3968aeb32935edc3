// A plan whose combinations are run elsewhere, in any order; knows nothing of Python.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/plan_job.h"
#include "sessions/plan/plan_file.h"

namespace hybridscope {

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

}  // namespace hybridscope
