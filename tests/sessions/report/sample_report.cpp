// Writes the report of a run, for report_test.py: sample_report FILE OUT key=value...; FILE is a
// scenario or (model=...) traffic. Keys: engine, level, steps=A-B, limit, blocks and any text of
// HtmlReportOptions.
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "sessions/record/step_recorder.h"
#include "sessions/report/html_report.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

using Arguments = std::map<std::string, std::string>;

std::string at(const Arguments& arguments, const std::string& key) {
  const auto found = arguments.find(key);
  return found == arguments.end() ? std::string() : found->second;
}

RunPlan plan_of(const std::string& file, const Arguments& arguments) {
  const EngineProfile profile =
      at(arguments, "engine") == "reference" ? EngineProfile::reference : EngineProfile::safe;
  if (arguments.contains("model")) {
    TrafficPlanInput input{.name = file,
                           .model = at(arguments, "model"),
                           .settings = {},
                           .limit = std::atoll(at(arguments, "limit").c_str())};
    input.settings.engine = profile;
    input.settings.mamba_cache_mode = MambaCacheMode::align;
    if (arguments.contains("blocks"))
      input.settings.num_gpu_blocks_override = std::atoi(at(arguments, "blocks").c_str());
    return plan_traffic(load_traffic(file, {}).value(), input).value();
  }
  Scenario scenario = read_scenario_file(file).value();
  scenario.settings.engine = profile;
  return plan_scenario(scenario, file).value();
}

int write_sample(const std::string& file, const std::string& out, const Arguments& arguments) {
  const std::string level = at(arguments, "level");
  const auto source = LiveSource::create(plan_of(file, arguments),
                                         level == "full"     ? RecordLevel::full
                                         : level == "counts" ? RecordLevel::counts
                                                             : RecordLevel::blocks,
                                         "sample");
  HtmlReportOptions options{
      .program = "hybridscope test", .status = "complete", .note = at(arguments, "note")};
  options.header.name = at(arguments, "name");
  options.header.model = at(arguments, "model_name");
  options.header.engine = at(arguments, "engine");
  options.header.source = at(arguments, "source");
  if (const std::string steps = at(arguments, "steps"); !steps.empty()) {
    options.first_step = std::atoll(steps.c_str());
    options.last_step = std::atoll(steps.c_str() + steps.find('-') + 1);
  }
  const auto report = write_html_report(*source.value(), options);
  if (!report.ok()) {
    fmt::print(stderr, "{}\n", report.error().message);
    return 3;
  }
  std::ofstream(out, std::ios::binary) << report.value().html;
  fmt::print("{} of {} steps, {} bytes\n", report.value().num_steps, report.value().num_all_steps,
             report.value().html.size());
  return 0;
}

}  // namespace
}  // namespace hybridscope

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  hybridscope::Arguments arguments;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return hybridscope::write_sample(argv[1], argv[2], arguments);
}
