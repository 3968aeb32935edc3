// Where the language model lies that comes with the program: its weights are too large to be a part
// of it.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hybridscope {

// Where the shipped model lies, from the project's root.
inline constexpr const char* kShippedModel = "scenarios/models/jargon-gdn";

// Its folder: in the working folder, else in that of the program, in share/hybridscope there, or in
// the same of a folder above, so that a program in the project's build folder finds it from
// anywhere. Error not_found: it is in none of them.
Result<std::string> find_shipped_model();

}  // namespace hybridscope
