// Which build of hybridscope is running.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hybridscope {

// 16 hex digits of the file that has this code, the program's or a shared library's: other code,
// another compiler or other flags give others. Error not_available: the file cannot be read.
Result<std::string> program_digest();

}  // namespace hybridscope
