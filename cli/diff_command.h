// `hybridscope diff`: two sessions side by side, recorded ones or a scenario run twice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/diff_options.h"
#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_source.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// The two sides of `hybridscope diff --scenario`: one scenario under two sets of settings.

struct DiffSide {
  std::unique_ptr<StepSource> source;
  std::string look_further;  // command line that explains step {} in full
  // How a recorded session ended; a run that is made for the comparison is complete.
  SessionStatus status = SessionStatus::complete;
  bool has_language = false;              // a language model ran
  std::optional<SpokenWords> texts = {};  // empty: none ran, or none of its words are kept
};

// What is wrong with the settings of either side before any scenario is read: an unknown profile or
// setting, a value it does not take.
Status check_live_settings(const DiffOptions& options);

// Side 0 is A. Errors: those of the scenario, an unknown setting, a value it does not take.
Result<DiffSide> open_live(const DiffOptions& options, int side);

// shell_word() with braces doubled, for a command line that fmt completes.
std::string shell_quoted(std::string_view text);

// Prints the report, or writes the page first. Returns the exit code: 1 when there are differences.
int diff_command(const DiffOptions& options);

}  // namespace hybridscope
