// Where the workbench keeps what it remembers, as the XDG Base Directory Specification has it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// The value of a variable, "" when it is not set.
using EnvironmentLookup = std::function<std::string(const char* name)>;

// Error not_available of both: no variable names an absolute folder; a relative one does not count.
// $XDG_CONFIG_HOME/hybridscope/settings.json, else below $HOME/.config.
Result<std::string> settings_path(const EnvironmentLookup& lookup);
// $XDG_STATE_HOME/hybridscope/layouts, else below $HOME/.local/state.
Result<std::string> layouts_folder(const EnvironmentLookup& lookup);

// A layout's name is one of a file: 1 to 64 ASCII letters, digits, spaces, '-', '_' and '.', no dot
// or space in front and no space at the end. Error invalid_input: anything else.
Status check_layout_name(std::string_view name);

}  // namespace hybridscope
