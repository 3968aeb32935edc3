#include "cli/twin_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/twin_report.h"

namespace hybridscope {

int twin_command(const RunOptions& options) {
  if (options.scenario.empty()) {
    fmt::print(stderr, "hybridscope run: --twin needs a scenario file\n");
    return kExitUsage;
  }
  const auto scenario = read_scenario(options);
  const auto twins = scenario.ok() ? run_twins(scenario.value(), options.scenario)
                                   : Result<Twins>(scenario.error());
  if (!twins.ok()) {
    fmt::print(stderr, "hybridscope run: {}\n", twins.error().message);
    return kExitInput;
  }
  if (options.output == RunOutput::json)
    fmt::print("{}\n", twins_to_json(scenario.value(), twins.value()).dump(2));
  else
    fmt::print("{}", format_twins(scenario.value(), twins.value()));
  const bool clean = twins.value().told.num_findings + twins.value().twin.num_findings == 0;
  return twins.value().agree() && clean ? kExitFine : kExitFindings;
}

}  // namespace hybridscope
