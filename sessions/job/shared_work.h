// What commands that split their work have in common.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

// "hybridscope 1.0.0 (build 0123456789abcdef)": results of another build are not gone on with.
Result<std::string> this_program();

// Threads for --jobs; 0: one per core.
std::int32_t num_threads_for(std::int32_t jobs);

}  // namespace hybridscope
