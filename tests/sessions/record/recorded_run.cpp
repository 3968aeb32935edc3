#include "tests/sessions/record/recorded_run.h"

#include <algorithm>
#include <filesystem>

#include "sessions/run/check_setup.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test {
namespace {

const std::string kScenarios = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/";

Runner make_runner(const Scenario& scenario) {
  auto plan = plan_scenario(scenario, "test.json");
  return Runner::create(std::move(plan).value()).value();
}

}  // namespace

Scenario small_scenario(const std::string& requests, const std::string& script,
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

Scenario shipped_scenario_file(const std::string& file) {
  return read_scenario_file(kScenarios + file).value();
}

std::vector<std::string> shipped_scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios))
    if (entry.path().extension() == ".json") files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  return files;
}

RecordedRun::RecordedRun(const Scenario& scenario, RecordLevel level)
    : runner_(make_runner(scenario)),
      checker_(StepChecker::create(make_check_config(runner_.engine().config())).value()),
      recorder_(runner_.engine().config(), level,
                [this](RequestId id) { return runner_.engine().name_of(id); }) {
  checker_.log_writes();
}

const StepRecord& RecordedRun::next() {
  trace_ = runner_.step().value();
  const auto findings = checker_.check(*trace_);
  recorder_.record(*trace_, findings, checker_.writes(), record_);
  return record_;
}

std::vector<StepRecord> RecordedRun::rest() {
  std::vector<StepRecord> records;
  while (!done()) records.push_back(next());
  return records;
}

}  // namespace hybridscope::test
