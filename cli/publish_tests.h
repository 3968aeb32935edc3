// Where results go beside the output: the JUnit and TAP files, and under GitHub Actions its
// annotations and the step's summary.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/environment.h"
#include "cli/tested_unit.h"

namespace hybridscope {

struct PublishOptions {
  std::string_view command{};  // "run": for messages and headings
  std::string junit{};         // file to write, empty: none
  std::string tap{};           // as well
  CiEnvironment environment{};
};

// Annotations go to stderr, which GitHub reads as it reads stdout: `--json` stays one document.
// Returns kExitFine, or kExitEnvironment when a report could not be written, and says why; a
// summary that cannot be written is only reported.
int publish_tests(std::span<const TestedUnit> units, const PublishOptions& options);

}  // namespace hybridscope
