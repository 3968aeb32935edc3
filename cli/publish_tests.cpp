#include "cli/publish_tests.h"

#include <fmt/core.h>

#include <cstdio>
#include <vector>

#include "cli/annotations.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/junit_file.h"
#include "cli/report_error.h"
#include "cli/step_summary.h"
#include "cli/tap_report.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

void tell_github(std::span<const TestedUnit> units, const PublishOptions& options) {
  fmt::print(stderr, "{}", annotations_text(units));
  if (options.environment.step_summary.empty()) return;
  const Status written = append_step_summary(options.environment.step_summary,
                                             fmt::format("hybridscope {}", options.command), units);
  if (!written.ok()) report_message(options.command, written.error().message);
}

}  // namespace

int publish_tests(std::span<const TestedUnit> units, const PublishOptions& options) {
  if (options.environment.github_annotations) tell_github(units, options);
  std::vector<JunitSuite> suites;
  suites.reserve(units.size());
  for (const TestedUnit& unit : units) suites.push_back(junit_suite(unit));
  int code = kExitFine;
  ask_for_interrupts();  // a report is written whole or not at all
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    const Status written = write_output_file(path, text);
    if (written.ok()) return;
    report_message(options.command, written.error().message);
    code = kExitEnvironment;
  };
  write(options.junit, junit_text(suites));
  write(options.tap, tap_text(suites));
  return code;
}

}  // namespace hybridscope
