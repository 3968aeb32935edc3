// For check(): options that count something.
#pragma once

#include "cli/cli_fwd.h"

namespace hybridscope {

// Accepts digits that are not all 0.
CLI::Validator is_positive_number();

}  // namespace hybridscope
