#include "sessions/export/fault_places.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_words.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"

namespace hybridscope {
namespace {

using FaultKey = std::pair<Rule, std::string>;  // and the request

struct FaultRun {
  std::vector<ExportedFault> faults;
  EngineConfig config;
};

class FaultFinder {
 public:
  FaultFinder(const Scenario& scenario, const std::string& file, CheckScope scope)
      : scenario_(scenario), file_(file), scope_(scope) {}

  Result<std::vector<ExportedFault>> find() const;

 private:
  Result<FaultRun> run(const Scenario& scenario) const;
  std::set<FaultKey> keys_of(const Scenario& scenario) const;
  Scenario with(const PolicyOverrides& policies) const;
  std::set<FaultKey> keys_of_bug(const KnownBug& bug) const;

  const Scenario& scenario_;
  const std::string& file_;
  CheckScope scope_;
};

Result<FaultRun> FaultFinder::run(const Scenario& scenario) const {
  auto plan = plan_scenario(scenario, file_);
  if (!plan.ok()) return plan.error();
  FaultRun result{.faults = {}, .config = plan.value().setup.config};
  auto checked = CheckedRun::create(std::move(plan).value(), {.check = scope_});
  if (!checked.ok()) return checked.error();
  const Names names = make_names(checked.value().engine());
  while (!checked.value().has_ended()) {
    const auto step = checked.value().step();
    if (!step.ok()) return step.error();
    for (const Finding& finding : step.value().findings) {
      const std::string request =
          finding.request.value >= 0 ? names.request(finding.request) : std::string();
      const auto known = std::ranges::find_if(result.faults, [&](const ExportedFault& fault) {
        return fault.rule == finding.rule && fault.request == request;
      });
      if (known != result.faults.end()) {
        ++known->count;
        continue;
      }
      result.faults.push_back({.rule = finding.rule,
                               .request = request,
                               .first_step = finding.step,
                               .count = 1,
                               .function = std::string(finding_words::source(finding, names)),
                               .bug = {}});
    }
  }
  return result;
}

// Empty for a scenario that cannot run with these policies.
std::set<FaultKey> FaultFinder::keys_of(const Scenario& scenario) const {
  std::set<FaultKey> keys;
  const auto result = run(scenario);
  if (!result.ok()) return keys;
  for (const ExportedFault& fault : result.value().faults) keys.emplace(fault.rule, fault.request);
  return keys;
}

Scenario FaultFinder::with(const PolicyOverrides& policies) const {
  Scenario scenario = scenario_;
  scenario.settings.policies = policies;
  return scenario;
}

// What the bug gives alone; of a bug with two policies, what neither gives alone.
std::set<FaultKey> FaultFinder::keys_of_bug(const KnownBug& bug) const {
  const KnownBug* const one = &bug;
  std::set<FaultKey> keys = keys_of(with(cause_alone(policies_of(std::span(&one, 1)))));
  if (bug.values().size() == 1) return keys;
  for (const PolicyValue& value : bug.values())
    for (const FaultKey& key : keys_of(with(cause_alone({value})))) keys.erase(key);
  return keys;
}

// Once for each of its bugs; unchanged without any.
void append_causes(const ExportedFault& fault, const std::vector<const KnownBug*>& bugs,
                   std::vector<ExportedFault>& out) {
  if (bugs.empty()) out.push_back(fault);
  for (const KnownBug* bug : bugs) {
    ExportedFault caused = fault;
    const std::string number = bug_number(*bug);
    caused.bug = "known bug " + (number.empty() ? std::string(bug->id) : number);
    if (const auto exhibit = shipped_bug(bug->id); exhibit.ok())
      caused.function = exhibit.value().function;
    out.push_back(std::move(caused));
  }
}

Result<std::vector<ExportedFault>> FaultFinder::find() const {
  auto own = run(scenario_);
  if (!own.ok()) return own.error();
  if (own.value().faults.empty()) return std::vector<ExportedFault>();
  std::map<FaultKey, std::vector<const KnownBug*>> alone;
  std::map<FaultKey, std::vector<const KnownBug*>> needed;
  const auto bugs = bugs_with(own.value().config.policies);
  for (const KnownBug* bug : bugs)
    for (const FaultKey& key : keys_of_bug(*bug)) alone[key].push_back(bug);
  for (const KnownBug* bug : bugs) {
    const std::set<FaultKey> left =
        keys_of(with(without_cause(scenario_.settings.policies, policies_of(std::span(&bug, 1)))));
    for (const ExportedFault& fault : own.value().faults)
      if (!left.contains({fault.rule, fault.request}))
        needed[{fault.rule, fault.request}].push_back(bug);
  }
  std::vector<ExportedFault> faults;
  for (const ExportedFault& fault : own.value().faults) {
    const FaultKey key{fault.rule, fault.request};
    append_causes(fault, alone.contains(key) ? alone[key] : needed[key], faults);
  }
  return faults;
}

// "running-state-wrong of C (step 4, 3 in all)"
std::string findings_words(const ExportedFault& fault) {
  return fmt::format("{}{} (step {}{})", rule_info(fault.rule).slug,
                     fault.request.empty() ? "" : " of " + fault.request, fault.first_step,
                     fault.count > 1 ? fmt::format(", {} in all", fault.count) : "");
}

}  // namespace

Result<std::vector<ExportedFault>> faults_of(const Scenario& scenario, const std::string& file,
                                             CheckScope scope) {
  return FaultFinder(scenario, file, scope).find();
}

std::vector<FaultPlace> fault_places(const std::vector<ExportedFault>& faults) {
  std::vector<FaultPlace> places;
  for (const ExportedFault& fault : faults) {
    const auto known = std::ranges::find_if(places, [&](const FaultPlace& place) {
      return place.function == fault.function && place.bug == fault.bug;
    });
    if (known != places.end())
      known->findings += ", " + findings_words(fault);
    else
      places.push_back({.part = part_of_function(fault.function),
                        .function = fault.function,
                        .bug = fault.bug,
                        .findings = findings_words(fault)});
  }
  return places;
}

std::string which_test(PartTest part, bool runner_test) {
  if (part == PartTest::pytest) return "The test of hybridscope export --as pytest runs it.";
  if (part == PartTest::none) return "No exported test runs it.";
  return runner_test ? "The test of hybridscope export --as runner-test runs it."
                     : "Only a runner test runs it, which these settings do not allow.";
}

std::vector<std::string> fault_notes(const std::vector<ExportedFault>& faults, PartTest test,
                                     bool runner_test) {
  std::vector<std::string> notes;
  for (const FaultPlace& place : fault_places(faults)) {
    if (place.part.test == test) continue;
    notes.push_back(fmt::format(
        "The fault behind {} lies in {} ({}{}), which this test does not run: it passes with the "
        "fault as well as without. {}",
        place.findings, place.part.words, place.function, place.bug.empty() ? "" : "; " + place.bug,
        which_test(place.part.test, runner_test)));
  }
  return notes;
}

}  // namespace hybridscope
