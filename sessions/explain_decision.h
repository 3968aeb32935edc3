// A state copy decision as its formula with the numbers filled in.
#pragma once

#include <string>
#include <string_view>

#include "core/state/copy_decision.h"

namespace hybridscope {

// One line without newline, such as "running = c + q - d = 6 + 2 - 1 = 7; new = running + a - 1 = 7
// + 2 - 1 = 8; aligned = floor(8 / 8) * 8 = 8 >= running: bias = 8 - 7 = 1, ...". Also says why
// nothing is copied.
std::string explain_decision(const StateCopyDecision& decision);

// Where the rule comes from: file and function of vLLM, or our page about the difference.
std::string_view decision_source(StateCopyRule rule);

// "copy", "within_block_shift", ...: stable names for files.
std::string_view outcome_name(StateCopyOutcome outcome);

}  // namespace hybridscope
