// Command lines that a reader of a report can paste into a shell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sessions/job/run_options.h"

namespace hybridscope {

// "hybridscope run scenarios/NAME.json --mamba-cache-mode align --explain 4": what runs the
// scenario alone (the traffic, when `file` is empty) with the settings of `options`; step 0: no
// --explain.
std::string run_words(const RunOptions& options, std::string_view file, std::int64_t explain = 0);

}  // namespace hybridscope
