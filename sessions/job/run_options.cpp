#include "sessions/job/run_options.h"

#include <fmt/core.h>
#include <utility>

#include "sessions/job/output_targets.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

Status load_baselines(KnownFindingsOption& option) {
  if (!option.write_baseline.empty()) option.collected = std::make_shared<FindingBaseline>();
  if (option.baseline.empty()) return Ok{};
  auto read = FindingBaseline::read(option.baseline);
  if (!read.ok()) return read.error();
  option.known = std::make_shared<FindingBaseline>(std::move(read).value());
  return Ok{};
}

std::string excused_words(const ExcusedFindings& excused) {
  return fmt::format("{} {} from {}", counted(excused.findings, "finding"),
                     excused.findings == 1 ? "is" : "are", excused.source);
}

namespace {

Result<RunPlan> plan_of_scenario(const RunOptions& options) {
  const auto scenario = read_scenario(options);
  if (!scenario.ok()) return scenario.error();
  return plan_scenario(scenario.value(), options.scenario);
}

}  // namespace

CommandFiles files_of(const RunOptions& options) {
  return {.inputs = {{"the traffic", options.traffic == kSyntheticTraffic ? "" : options.traffic},
                     {"the model's file", options.model},
                     {"the baseline", options.known.baseline},
                     {"of the language model", options.state.weights},
                     {"the scenario", options.scenario_text.empty() ? options.scenario : ""}},
          .outputs = {{"--trace", options.trace},
                      {"--write-baseline", options.known.write_baseline},
                      recording(options.record.place)}};
}

Result<Scenario> read_scenario(const RunOptions& options) {
  auto scenario = options.scenario_text.empty()
                      ? read_scenario_file(options.scenario)
                      : parse_scenario({.text = options.scenario_text, .file = options.scenario});
  if (!scenario.ok()) return scenario.error();
  if (!options.model.empty()) scenario.value().model = options.model;
  auto settings = options.settings.apply(scenario.value().settings);
  if (!settings.ok()) return settings.error();
  scenario.value().settings = std::move(settings).value();
  return scenario;
}

Result<RunPlan> make_run_plan(const RunOptions& options) {
  if (!options.scenario.empty()) return plan_of_scenario(options);
  auto settings = options.settings.apply({});
  if (!settings.ok()) return settings.error();
  TrafficOptions traffic_options = options.traffic_options;
  traffic_options.load.seed = static_cast<std::uint64_t>(settings.value().seed.value_or(0));
  auto traffic = load_traffic(options.traffic, traffic_options);
  if (!traffic.ok()) return traffic.error();
  return plan_traffic(
      std::move(traffic).value(),
      {.name = options.traffic == kSyntheticTraffic ? "synthetic traffic" : options.traffic,
       .model = options.model.empty() ? kDefaultTrafficModel : options.model,
       .settings = settings.value(),
       .limit = options.limit});
}

}  // namespace hybridscope
