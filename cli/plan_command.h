// `hybridscope plan`: what a model and its settings hold, without traffic.
#pragma once

#include <cstdint>
#include <string>

#include "cli/cli_fwd.h"
#include "cli/settings_options.h"

namespace hybridscope {

struct PlanOptions {
  std::string model;
  std::string from_serve;   // a line of vllm serve; empty: none
  std::int32_t prompt = 0;  // 0: not given
  std::int32_t output = 0;
  std::int32_t shared = 0;
  bool startup_log = false;
  bool json = false;
  SettingsOptions settings;
};

void add_plan_options(CLI::App& command, PlanOptions& options);
int plan_command(const PlanOptions& options);

}  // namespace hybridscope
