// Where results go beside the output: the JUnit and TAP files, and under GitHub Actions its
// annotations and the step's summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "cli/run_tests.h"
#include "core/base/result.h"

namespace hybridscope {

// Annotations of GitHub Actions: lines that the runner takes from the output of a step and shows
// beside the code ("Workflow commands for GitHub Actions").

// GitHub shows 10 of each kind per step and silently drops the rest.
inline constexpr std::int64_t kMaxAnnotations = 9;  // of each severity

// What follows "::": %, CR and LF are written as %25, %0D and %0A.
std::string annotation_data(std::string_view text);
// A value between commas: : and , too, as %3A and %2C.
std::string annotation_property(std::string_view text);

// The first kMaxAnnotations errors and as many warnings of all units, a line each, in order; then,
// if there are more, a notice that says how many.
std::string annotations_text(std::span<const TestedUnit> units);

// The Markdown page that GitHub Actions shows for a step ($GITHUB_STEP_SUMMARY).

// GitHub refuses a longer page as a whole.
inline constexpr std::size_t kMaxStepSummaryBytes = 1 << 20;

// A heading and a table with one row per unit, those with problems first; at most `max_bytes`, with
// a last line that says how many rows were cut. Empty when not even that fits.
std::string step_summary_text(std::string_view title, std::span<const TestedUnit> units,
                              std::size_t max_bytes);

// Appends it to the file; what other commands of the step wrote counts for the limit. Error io.
Status append_step_summary(const std::string& path, std::string_view title,
                           std::span<const TestedUnit> units);

struct PublishOptions {
  std::string_view command{};  // "run": for messages and headings
  std::string junit{};         // file to write, empty: none
  std::string tap{};           // as well
  CiEnvironment environment{};
};

// Options of a command that writes to these files, and the environment of this process.
template <class Options>
PublishOptions publish_options(std::string_view command, const Options& options) {
  return {.command = command,
          .junit = options.junit,
          .tap = options.tap,
          .environment = read_ci_environment(environment_variable)};
}

// Annotations go to stderr, which GitHub reads as it reads stdout: `--json` stays one document.
// Returns kExitFine, or kExitEnvironment when a report could not be written, and says why; a
// summary that cannot be written is only reported.
int publish_tests(std::span<const TestedUnit> units, const PublishOptions& options);

}  // namespace hybridscope
