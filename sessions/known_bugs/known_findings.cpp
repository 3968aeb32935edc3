#include "sessions/known_bugs/known_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

namespace hybridscope {

KnownFindings::KnownFindings(const RunPlan& plan)
    : plan_(plan),
      profile_(plan.settings.engine.value_or(EngineProfile::safe)),
      bugs_(bugs_of(profile_, plan.setup.config.runner)) {}

bool KnownFindings::has(const KnownBug* bug) const {
  return bug != nullptr && std::ranges::find(bugs_, bug) != bugs_.end();
}

// Does the scenario itself set the policies of the bug?
bool KnownFindings::is_set(const KnownBug& bug) const {
  return std::ranges::all_of(bug.values(), [this](const PolicyValue& value) {
    return plan_.settings.policies.values[value.place] == value.value;
  });
}

bool KnownFindings::explains(const FindingCause& cause) {
  bool of_engine = false;
  for (const std::vector<const KnownBug*>& alike : cause.bugs) {
    const bool has_one =
        std::ranges::any_of(alike, [this](const KnownBug* bug) { return has(bug); });
    if (!has_one &&
        std::ranges::none_of(alike, [this](const KnownBug* bug) { return is_set(*bug); }))
      return false;
    of_engine = of_engine || has_one;
  }
  if (!of_engine) return false;
  for (const std::vector<const KnownBug*>& alike : cause.bugs)
    shown_.insert(shown_.end(), alike.begin(), alike.end());
  return true;
}

bool KnownFindings::applies(const ExpectedBug& expected, const KnownBug& bug) const {
  if (!has(&bug)) return false;
  if (!expected.first && !expected.last) return true;
  if (profile_.kind != EngineProfile::Kind::vllm_release) return false;
  return expected.first.value_or(profile_.release) <= profile_.release &&
         profile_.release <= expected.last.value_or(profile_.release);
}

std::vector<std::string> KnownFindings::missing(bool all_searched) const {
  std::vector<std::string> missing;
  for (const ExpectedBug& expected : plan_.expect.known_bugs) {
    const auto found = find_known_bug(expected.id);
    if (!found.ok() || !applies(expected, *found.value())) continue;
    const KnownBug* const bug = found.value();
    if (std::ranges::find(shown_, bug) != shown_.end()) continue;
    missing.push_back(fmt::format(
        "{}, which {} has, is the cause of no finding{}", bug_cause_words(std::span(&bug, 1)),
        engine_profile_name(profile_), all_searched ? "" : " whose cause is known"));
  }
  return missing;
}

}  // namespace hybridscope
