// How every command says what was wrong with the world, and the exit code that follows.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// Prints "hybridscope COMMAND: message" on stderr. The exit code: environment for what the machine
// lacks (device, lock, disk), else unreadable or invalid input.
int report_error(std::string_view command, const Error& error);

}  // namespace hybridscope
