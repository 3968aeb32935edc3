#include "cli/bugs_report.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

#include "cli/bugs_words.h"
#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "core/check/finding.h"
#include "core/engine/releases.h"
#include "sessions/known_bugs/bug_report.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/shrink/shrink_scenario.h"

namespace hybridscope {
namespace {

// The smaller of the bug's scenario and what is left of it after shrinking, and what it finds.
struct Smallest {
  Scenario scenario = {};
  std::string finding = {};
};

// The rule that the scenario shows the bug by.
std::optional<Rule> shown_rule(const BugExhibit& exhibit) {
  for (const RuleInfo& info : rule_table())
    if (info.slug == exhibit.scenario.expect.findings->front().rule) return info.rule;
  return std::nullopt;
}

std::string first_finding(const BugSide& side, std::optional<Rule> rule) {
  for (const KeptFinding& kept : side.findings.kept())
    if (!rule || kept.finding.rule == *rule) return kept.text;
  return {};
}

// Error: the engine refuses the scenario.
Result<Smallest> smallest_scenario(const BugExhibit& exhibit) {
  const std::optional<Rule> rule = shown_rule(exhibit);
  const Scenario faulty = faulty_scenario(exhibit);
  auto shrunk = shrink_scenario(faulty, {.rule = rule});
  if (shrunk.ok() && shrunk.value().size_after < shrunk.value().size_before)
    return Smallest{std::move(shrunk.value().scenario), std::move(shrunk.value().text)};
  const auto side = run_bug_side(faulty);
  if (!side.ok()) return side.error();
  return Smallest{faulty, first_finding(side.value(), rule)};
}

}  // namespace

int print_bug_report(const BugExhibit& exhibit, const std::string& release_text) {
  const Release release = release_text.empty() ? kNewestRelease : *parse_release(release_text);
  const std::optional<ModelRunner> runner = runner_with(exhibit, release);
  if (!runner) {
    fmt::print("{}\n", absence_words(*exhibit.bug, release));
    return kExitFine;
  }
  const auto smallest = smallest_scenario(exhibit);
  if (!smallest.ok()) return fail_bugs("show", smallest.error());
  const auto in_release = run_bug_in(exhibit, release, *runner);
  fmt::print("{}", bug_report({.exhibit = exhibit,
                               .release = release,
                               .runner = *runner,
                               .smallest = smallest.value().scenario,
                               .finding = smallest.value().finding,
                               .in_release = in_release}));
  return kExitFine;
}

int print_bug_test(const BugExhibit& exhibit) {
  const std::string_view test = shipped_bug_test(exhibit.bug->id);
  if (test.empty())
    return report_usage("bugs show", fmt::format("--test: {} has none; bugs of the newest release "
                                                 "do (hybridscope bugs list --engine vllm)",
                                                 exhibit.bug->id));
  fmt::print("{}", test);
  return kExitFine;
}

}  // namespace hybridscope
