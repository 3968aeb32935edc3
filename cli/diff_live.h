// The two sides of `hybridscope diff --scenario`: one scenario under two sets of settings.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/diff_options.h"
#include "core/base/result.h"
#include "sessions/record/step_source.h"

namespace hybridscope {

struct DiffSide {
  std::unique_ptr<StepSource> source;
  std::string look_further;  // command line that tells everything about step {}
};

// What is wrong with the settings of either side before any scenario is read: an unknown profile or
// setting, a value it does not take.
Status check_live_settings(const DiffOptions& options);

// Side 0 is A. Errors: those of the scenario, an unknown setting, a value it does not take.
Result<DiffSide> open_live(const DiffOptions& options, int side);

// As one word of a shell's command line; braces doubled for fmt.
std::string shell_quoted(std::string_view text);

}  // namespace hybridscope
