#include "sessions/matrix/run_cell.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/scenario/scripted_policies.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

// Depends on the cell's name, so a new axis value changes no other cell.
std::uint64_t scenario_seed(const MatrixCell& cell, std::int64_t index, std::uint64_t seed) {
  return mix(mix(seed, hash_name(NameKind::text, cell_name(cell))),
             static_cast<std::uint64_t>(index));
}

Scenario named_scenario(const MatrixCell& cell, std::int64_t index, std::uint64_t seed) {
  Scenario scenario = random_scenario(cell, scenario_seed(cell, index, seed));
  scenario.name = fmt::format("{} {}", cell_name(cell), index);
  return scenario;
}

Policies policies_in(const MatrixCell& cell, const EngineProfile& profile,
                     const PolicyOverrides& overrides) {
  EngineSettings settings = cell_settings(cell);
  settings.engine = profile;
  settings.policies = overrides;
  return resolve_policies(settings);
}

// Do the engine's policies already include the bug's?
bool has_bug(const MatrixCell& cell, const EngineProfile& profile, PolicyOverrides overrides,
             const KnownBug& bug) {
  const Policies policies = policies_in(cell, profile, overrides);
  const KnownBug* const bugs[] = {&bug};
  lay_over(overrides, policies_of(bugs));
  return policies_in(cell, profile, overrides) == policies;
}

// The profile's bugs without those that the overrides remove, and with those that they add.
std::vector<const KnownBug*> bugs_in(const MatrixCell& cell, const CellRunOptions& options) {
  std::vector<const KnownBug*> bugs = bugs_of(options.profile, cell.runner());
  if (options.policies == PolicyOverrides{}) return bugs;
  for (const KnownBug& bug : known_bug_table()) {
    const bool before = has_bug(cell, options.profile, {}, bug);
    const bool after = has_bug(cell, options.profile, options.policies, bug);
    if (before && !after) std::erase(bugs, &bug);
    if (!before && after) bugs.push_back(&bug);
  }
  return bugs;
}

class CellRun {
 public:
  CellRun(const MatrixCell& cell, const CellRunOptions& options)
      : cell_(cell), options_(options), bugs_(bugs_in(cell, options)) {
    result_.cell = cell;
  }

  Result<std::optional<CellResult>> run();

 private:
  using Bugs = std::vector<const KnownBug*>;
  using Kinds = std::set<FindingKind>;

  Result<CheckedScenario> checked(const Scenario& scenario, std::int64_t index,
                                  const MakeStateBackend& make_backend) const;
  Status run_scenario(std::int64_t index);
  Status explain(const CheckedScenario& run, std::int64_t index);
  Status explain_together(std::int64_t index, bool& explained);
  Result<Kinds> errors_with(const PolicyOverrides& policies, std::int64_t index) const;
  Result<Kinds> errors_of(const KnownBug& bug, std::int64_t index) const;
  void add_fault(const Bugs& bugs, const FindingKind& kind, std::int64_t index);
  void finish();

  const MatrixCell& cell_;
  const CellRunOptions& options_;
  Bugs bugs_;  // of the engine
  CellResult result_;
  std::map<FindingKind, CellFinding> findings_;
  std::map<FindingKind, CellFinding> unexplained_;
  std::map<std::string, CellFault> faults_;
};

template <class Key, class Count>
void count(std::map<Key, Count>& counts, const Key& key, Count fresh) {
  ++counts.try_emplace(key, std::move(fresh)).first->second.scenarios;
}

// Only a lost device or too little memory is returned as an error.
Result<CheckedScenario> CellRun::checked(const Scenario& scenario, std::int64_t index,
                                         const MakeStateBackend& make_backend) const {
  std::string broken;
  try {
    auto run = check_scenario(scenario, make_backend);
    if (run.ok() || run.error().kind != ErrorKind::invalid_input) return run;
    broken = run.error().message;
  } catch (const ContractViolation& violation) {
    broken = violation.what();
  }
  contract_violation(
      fmt::format("cell {}, scenario {}: {}", cell_name(cell_), index, broken).c_str(), __FILE__,
      __LINE__);
}

Result<CellRun::Kinds> CellRun::errors_with(const PolicyOverrides& policies,
                                            std::int64_t index) const {
  Scenario scenario = named_scenario(cell_, index, options_.seed);
  scenario.settings.policies = policies;
  auto run = checked(scenario, index, {});
  if (!run.ok()) return run.error();
  return std::move(run).value().errors;
}

// The errors that the bug alone causes; for a bug with two policies, those that need both.
Result<CellRun::Kinds> CellRun::errors_of(const KnownBug& bug, std::int64_t index) const {
  auto errors = errors_with(policies_of(Bugs{&bug}), index);
  if (!errors.ok() || errors.value().empty() || bug.values().size() == 1) return errors;
  for (const PolicyValue& value : bug.values()) {
    const KnownBug half{.id = bug.id, .policies = {value}};
    const auto fewer = errors_with(policies_of(Bugs{&half}), index);
    if (!fewer.ok()) return fewer.error();
    for (const FindingKind& kind : fewer.value()) errors.value().erase(kind);
  }
  return errors;
}

// Finds the bugs of the profile that cause an error in the scenario alone, or else the set of bugs
// that cause one together.
Status CellRun::explain(const CheckedScenario& run, std::int64_t index) {
  bool explained = false;
  for (const KnownBug* bug : bugs_) {
    const auto errors = errors_of(*bug, index);
    if (!errors.ok()) return errors.error();
    if (errors.value().empty()) continue;
    explained = true;
    add_fault({bug}, *errors.value().begin(), index);
  }
  if (explained) return Ok{};
  if (Status together = explain_together(index, explained); !together.ok() || explained)
    return together;
  for (const FindingKind& kind : run.errors)
    count(unexplained_, kind, CellFinding{.kind = kind, .first = index});
  return Ok{};
}

// A set of bugs none of which can be left out.
Status CellRun::explain_together(std::int64_t index, bool& explained) {
  Bugs needed = bugs_;
  auto errors = errors_with(policies_of(needed), index);
  if (!errors.ok()) return errors.error();
  explained = !errors.value().empty();
  if (!explained) return Ok{};
  for (const KnownBug* bug : bugs_) {
    Bugs fewer = needed;
    std::erase(fewer, bug);
    auto left = errors_with(policies_of(fewer), index);
    if (!left.ok()) return left.error();
    if (left.value().empty()) continue;
    needed = std::move(fewer);
    errors = std::move(left);
  }
  add_fault(needed, *errors.value().begin(), index);
  return Ok{};
}

void CellRun::add_fault(const Bugs& bugs, const FindingKind& kind, std::int64_t index) {
  const auto num_requests =
      static_cast<std::int64_t>(named_scenario(cell_, index, options_.seed).requests.size());
  const std::string name = name_of_bugs(bugs);
  CellFault& fault = faults_[name];
  if (fault.scenarios == 0 || num_requests < fault.num_requests)
    fault = {.bugs = name,
             .scenarios = fault.scenarios,
             .index = index,
             .num_requests = num_requests,
             .kind = kind};
  ++fault.scenarios;
}

Status CellRun::run_scenario(std::int64_t index) {
  // The kernels cannot reproduce kernel faults in bytes (core/trace, KernelVariants), so an engine
  // with bugs or overridden policies runs with symbolic state only.
  const bool in_bytes = options_.make_backend && bugs_.empty() &&
                        options_.policies == PolicyOverrides{} && index % kScenariosABytesRun == 0;
  const auto run = checked(scenario_of_cell(cell_, index, options_), index,
                           in_bytes ? options_.make_backend : MakeStateBackend());
  if (!run.ok()) return run.error();
  const CheckedScenario& seen = run.value();
  ++result_.num_scenarios;
  result_.num_in_bytes += in_bytes;
  result_.num_steps += seen.num_steps;
  result_.num_request_steps += seen.num_request_steps;
  seen.events.add_to(result_.events);
  for (const FindingKind& kind : seen.errors)
    count(findings_, kind, CellFinding{.kind = kind, .first = index});
  if (seen.errors.empty()) return Ok{};
  return ++result_.num_failing <= kMaxExplained ? explain(seen, index) : Status(Ok{});
}

template <class Key, class Value>
std::vector<Value> values_of(std::map<Key, Value>& map) {
  std::vector<Value> values;
  for (auto& [key, value] : map) values.push_back(std::move(value));
  return values;
}

void CellRun::finish() {
  const Policies policies = policies_in(cell_, options_.profile, options_.policies);
  for (const MatrixEventInfo& info : matrix_event_table())
    if (info.belongs_to(cell_, policies) &&
        result_.events[static_cast<std::size_t>(info.event)].times == 0)
      result_.missing.push_back(info.event);
  result_.findings = values_of(findings_);
  result_.unexplained = values_of(unexplained_);
  result_.faults = values_of(faults_);
  if (!result_.findings.empty())
    result_.verdict = CellVerdict::has_findings;
  else if (!result_.missing.empty())
    result_.verdict = CellVerdict::untested;
}

Result<std::optional<CellResult>> CellRun::run() {
  if (const auto other = stands_for(cell_)) {
    result_.verdict = CellVerdict::same;
    result_.note = cell_name(*other);
    return std::optional<CellResult>(std::move(result_));
  }
  if (std::string refusal = refusal_of(cell_); !refusal.empty()) {
    result_.verdict = CellVerdict::refused;
    result_.note = std::move(refusal);
    return std::optional<CellResult>(std::move(result_));
  }
  for (std::int64_t index = 0; index < options_.num_scenarios; ++index) {
    if (options_.go_on && !options_.go_on()) return std::optional<CellResult>();
    if (Status ran = run_scenario(index); !ran.ok()) return ran.error();
  }
  finish();
  return std::optional<CellResult>(std::move(result_));
}

}  // namespace

std::string_view verdict_name(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::safe:
      return "safe";
    case CellVerdict::has_findings:
      return "findings";
    case CellVerdict::untested:
      return "untested";
    case CellVerdict::refused:
      return "refused";
    case CellVerdict::same:
      return "same";
  }
  return "";
}

Scenario scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                          const CellRunOptions& options) {
  Scenario scenario = named_scenario(cell, index, options.seed);
  if (options.profile != EngineProfile::safe) scenario.settings.engine = options.profile;
  scenario.settings.policies = options.policies;
  return scenario;
}

Scenario scenario_of_bugs(const MatrixCell& cell, std::int64_t index, std::uint64_t seed,
                          std::span<const KnownBug* const> bugs) {
  Scenario scenario = named_scenario(cell, index, seed);
  scenario.settings.policies = policies_of(bugs);
  return scenario;
}

std::string name_of_bugs(std::span<const KnownBug* const> bugs) {
  std::string name;
  for (const KnownBug* bug : bugs) name += fmt::format("{}{}", name.empty() ? "" : "+", bug->id);
  return name;
}

Result<std::vector<const KnownBug*>> bugs_named(std::string_view name) {
  std::vector<const KnownBug*> bugs;
  while (true) {
    const std::size_t end = name.find('+');
    const auto bug = find_known_bug(name.substr(0, end));
    if (!bug.ok()) return bug.error();
    bugs.push_back(bug.value());
    if (end == std::string_view::npos) return bugs;
    name.remove_prefix(end + 1);
  }
}

Result<std::optional<CellResult>> run_cell(const MatrixCell& cell, const CellRunOptions& options) {
  return CellRun(cell, options).run();
}

}  // namespace hybridscope
