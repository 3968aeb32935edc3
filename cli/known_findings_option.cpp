#include "cli/known_findings_option.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

void add_known_findings_options(CLI::App& command, KnownFindingsOption& option) {
  auto* known_bugs = command.add_flag(
      "--expect-known-bugs", option.known_bugs,
      "findings of known bugs that the engine's profile has do not fail; that a scenario does not "
      "show one that it says it shows does (docs/ci.md)");
  known_bugs->excludes("--twin");
  auto* baseline = command
                       .add_option("--baseline", option.baseline,
                                   "findings that are in this file do not fail (docs/ci.md)")
                       ->type_name("FILE.json")
                       ->excludes("--twin");
  command
      .add_option("--write-baseline", option.write_baseline,
                  "write the findings of this run as a baseline, if it comes to its end; they do "
                  "not fail")
      ->type_name("FILE.json")
      ->excludes("--twin")
      ->excludes(baseline)
      ->excludes(known_bugs);
}

Status load_baselines(KnownFindingsOption& option) {
  if (!option.write_baseline.empty()) option.collected = std::make_shared<FindingBaseline>();
  if (option.baseline.empty()) return Ok{};
  auto read = FindingBaseline::read(option.baseline);
  if (!read.ok()) return read.error();
  option.known = std::make_shared<FindingBaseline>(std::move(read).value());
  return Ok{};
}

void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs) {
  if (option.known == nullptr) return;
  std::int64_t unseen = 0;
  for (const std::string& run : complete_runs) unseen += option.known->num_unseen(run);
  if (unseen > 0)
    report_note(fmt::format("{} of {} did not occur; --write-baseline writes the file anew",
                            counted(unseen, "finding"), option.baseline));
}

int write_baseline(const KnownFindingsOption& option, const std::string& incomplete) {
  if (option.collected == nullptr) return kExitFine;
  std::string why = incomplete;
  if (const std::int64_t steps = option.collected->num_steps();
      why.empty() && steps > kMostBaselineSteps)
    why = fmt::format("its findings are in {} steps in all, and a baseline has at most {}",
                      grouped_number(steps), grouped_number(kMostBaselineSteps));
  if (!why.empty()) {
    report_message("run", fmt::format("{} is not written: {}", option.write_baseline, why));
    return kExitUsage;
  }
  const Status written = write_output_file(option.write_baseline, option.collected->text());
  if (written.ok()) return kExitFine;
  report_message("run", written.error().message);
  return kExitEnvironment;
}

std::string excused_words(const ExcusedFindings& excused) {
  return fmt::format("{} {} from {}", counted(excused.findings, "finding"),
                     excused.findings == 1 ? "is" : "are", excused.source);
}

}  // namespace hybridscope
