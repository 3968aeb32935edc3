// `hybridscope model`: shapes, dtypes, page and block size and why.
#pragma once

#include <string>

#include "cli/cli_fwd.h"
#include "sessions/job/settings_options.h"

namespace hybridscope {

struct ModelOptions {
  std::string model;
  bool json = false;
  bool list = false;
  SettingsOptions settings;
};

void add_model_options(CLI::App& command, ModelOptions& options);
int model_command(const ModelOptions& options);

}  // namespace hybridscope
