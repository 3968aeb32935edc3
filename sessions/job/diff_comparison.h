// What `hybridscope diff` compares and finds; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/job/diff_report.h"
#include "sessions/record/step_record.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// What is compared: two recorded sessions, or one scenario under two sets of settings.

struct DiffOptions {
  std::vector<std::string> sessions;  // FILE.db[:NAME], two; empty with a scenario
  std::string scenario;
  std::vector<std::string> engines;     // profiles of A and B
  std::vector<std::string> settings_a;  // KEY=VALUE
  std::vector<std::string> settings_b;
  std::vector<std::string> ignore;
  RecordLevel level = RecordLevel::full;  // of live runs
  std::int64_t limit = 100;               // steps, or requests, shown
  bool all = false;                       // show the fields of every step, not only of the first
  bool first = false;                     // stop at the first divergence
  bool requests = false;                  // compare by request, not by step
};

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

// Why there is no comparison. By usage: the options are wrong, whatever the sessions hold.
struct DiffFailure {
  Error error;
  bool by_usage = false;
};

using TakeDiff = std::function<void(const DiffReport&)>;

// Both may be empty.
struct DiffWatch {
  std::function<void(std::int64_t step)> on_step = {};  // for each step read of either side
  std::function<bool()> stopped = {};  // true: it ends before the next step, as interrupted
};

// Compares and calls `take`, outside of which the report's words are not valid.
std::optional<DiffFailure> compare_sides(const DiffOptions& options, const TakeDiff& take,
                                         const DiffWatch& watch = {});

}  // namespace hybridscope
