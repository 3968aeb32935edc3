// Where the workbench keeps what it remembers (XDG Base Directory Specification).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// The value of a variable, "" when it is not set.
using EnvironmentLookup = std::function<std::string(const char* name)>;

// Error of both, not_available: no variable names an absolute folder; relative ones are ignored.
// $XDG_CONFIG_HOME/hybridscope/settings.json, else below $HOME/.config.
Result<std::string> settings_path(const EnvironmentLookup& lookup);
// $XDG_STATE_HOME/hybridscope/layouts, else below $HOME/.local/state.
Result<std::string> layouts_folder(const EnvironmentLookup& lookup);

// A layout's name is a file name: 1 to 64 ASCII letters, digits, spaces, '-', '_' and '.', without
// a leading dot or space or a trailing space. Error invalid_input: anything else.
Status check_layout_name(std::string_view name);

}  // namespace hybridscope
