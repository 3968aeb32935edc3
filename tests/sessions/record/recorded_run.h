// A scenario run under the checker and recorded step by step, for tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sessions/record/step_recorder.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"

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

  bool done() const { return run_.has_ended(); }
  // The record of the next step; valid until the call after it.
  const StepRecord& next();
  const StepTrace& trace() const { return *trace_; }
  const Engine& engine() const { return run_.engine(); }
  std::vector<StepRecord> rest();

 private:
  CheckedRun run_;
  StepRecorder recorder_;
  const StepTrace* trace_ = nullptr;
  StepRecord record_;
};

inline const std::string kScenarios = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/";

inline Scenario small_scenario(const std::string& requests, const std::string& script,
                               const std::string& more) {
  const std::string text = R"({"version": 1, "name": "small", "teaches": "a test",
      "model": "tiny-mamba2",
      "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 16,
                   "max_model_len": 64, "async_scheduling": false,
                   "speculative_config": {"method": "mtp", "num_speculative_tokens": 1})" +
                           more + R"(}, "requests": )" + requests + R"(, "script": )" + script +
                           "}";
  return parse_scenario({.text = text, .file = "test.json"}).value();
}

inline Scenario shipped_scenario_file(const std::string& file) {
  return read_scenario_file(kScenarios + file).value();
}

inline std::vector<std::string> shipped_scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios))
    if (entry.path().extension() == ".json") files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  return files;
}

inline RecordedRun::RecordedRun(const Scenario& scenario, RecordLevel level)
    : run_(CheckedRun::create(plan_scenario(scenario, "test.json").value()).value()),
      recorder_(run_.engine().config(), level,
                [this](RequestId id) { return run_.engine().name_of(id); }) {
  run_.log_writes();
}

inline const StepRecord& RecordedRun::next() {
  const CheckedStep step = run_.step().value();
  trace_ = &step.trace;
  recorder_.record(step.trace, step.findings, step.writes, record_);
  return record_;
}

inline std::vector<StepRecord> RecordedRun::rest() {
  std::vector<StepRecord> records;
  while (!done()) records.push_back(next());
  return records;
}

}  // namespace hybridscope::test
