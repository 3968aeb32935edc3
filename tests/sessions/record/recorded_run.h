// A scenario run under the checker and recorded step by step, for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/check/step_checker.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/runner.h"

namespace hybridscope::test {

// A scenario of one mamba2 layer and one attention layer in mode align, blocks of 8 tokens, K = 1;
// `more` are members of its settings (", \"runner\": \"v2\""), requests and script as in a file.
Scenario small_scenario(const std::string& requests, const std::string& script = "[]",
                        const std::string& more = "");
Scenario shipped_scenario_file(const std::string& file);
std::vector<std::string> shipped_scenario_files();  // names in scenarios/, sorted

class RecordedRun {
 public:
  RecordedRun(const Scenario& scenario, RecordLevel level);

  bool done() const { return runner_.done(); }
  // The record of the next step; valid until the call after it.
  const StepRecord& next();
  const StepTrace& trace() const { return *trace_; }
  const StepChecker& checker() const { return checker_; }
  const Runner& runner() const { return runner_; }
  std::vector<StepRecord> rest();

 private:
  Runner runner_;
  StepChecker checker_;
  StepRecorder recorder_;
  const StepTrace* trace_ = nullptr;
  StepRecord record_;
};

}  // namespace hybridscope::test
