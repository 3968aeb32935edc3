// Records runs of our engine, for tests of session files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/check/step_checker.h"
#include "sessions/run_plan.h"
#include "storage/session_writer.h"

namespace hybridscope::test {

// A folder of its own below the test's temporary folder, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> shipped_scenario_names();
RunPlan shipped_scenario(const std::string& name);  // "align_boundary_by_decode"
// `num_requests` of the generator, on tiny-gdn with two speculative tokens.
RunPlan synthetic_run(std::int64_t num_requests);

struct Recording {
  SessionPlace place;
  RecordLevel level = RecordLevel::full;
  std::int64_t max_steps = 0;  // stop after so many, 0: at the end
  bool finishes = true;        // false: the writer is left without finish()
  std::int64_t busy_timeout_ms = 10000;
  // Sees each record as it is handed over, and the checker after its step.
  std::function<void(const StepRecord&, const StepChecker&)> watch = {};
};

// Runs the plan under the checker into a session. What storage answers last is the answer.
Status record_run(const RunPlan& plan, const Recording& recording);

// The header that record_run gives.
SessionHeader header_of(const RunPlan& plan, RecordLevel level);

// The first column of a query's answer, as text; "NULL" for null.
std::vector<std::string> query(const std::string& file, const std::string& sql);
std::int64_t query_number(const std::string& file, const std::string& sql);

}  // namespace hybridscope::test
