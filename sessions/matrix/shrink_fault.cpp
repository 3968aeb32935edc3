#include "sessions/matrix/shrink_fault.h"

#include <fmt/core.h>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxRuns = 1000;         // per candidate
constexpr std::size_t kMaxFileNameBytes = 120;  // without ".json"

// A name that every file system accepts.
std::string file_name(const std::string& key) {
  std::string name;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
    name += plain ? c : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  if (name.size() > kMaxFileNameBytes)
    name = fmt::format("{}-{:016x}", name.substr(0, kMaxFileNameBytes),
                       hash_name(NameKind::text, key));
  return name;
}

// Keeps those with the fewest requests; on ties those of the earlier cells.
void keep_smallest(std::vector<FaultCandidates::Place>& places) {
  std::ranges::stable_sort(places, {}, &FaultCandidates::Place::num_requests);
  places.resize(std::min(places.size(), kMaxFaultCandidates));
}

// The scenario as the cell runs it, and before it, except for a release, with the policies of the
// cause alone, which make a smaller file.
Result<std::vector<Scenario>> scenarios_at(const FaultCandidates& candidates,
                                           const FaultCandidates::Place& place,
                                           const CellRunOptions& options) {
  std::vector<Scenario> scenarios;
  if (!candidates.cause.empty() && options.profile.kind != EngineProfile::Kind::vllm_release) {
    const auto policies = policies_of_cause(candidates.cause);
    if (!policies.ok()) return policies.error();
    scenarios.push_back(scenario_with_policies(
        place.cell, drawn_scenario(place.cell, place.index, options.seed), policies.value()));
  }
  scenarios.push_back(scenario_of_cell(place.cell, place.index, options));
  return scenarios;
}

// What is wrong in the shrunk scenario without its cause, which would not be what it is named
// after; empty: nothing.
Result<std::string> left_without_cause(const ShrunkScenario& shrunk) {
  Scenario without = shrunk.scenario;
  switch_off(shrunk.cause.policies, without.settings, without.script);
  const auto run = check_scenario(without, {});
  if (!run.ok()) return run.error();
  std::string rules;
  for (const FindingKind& kind : run.value().errors) {
    const std::string_view slug = rule_info(kind.rule).slug;
    if (rules.find(slug) == std::string::npos)
      rules += fmt::format("{}{}", rules.empty() ? "" : ", ", slug);
  }
  return rules;
}

ShrunkFault shrunk_fault(const FaultCandidates& candidates, const FaultCandidates::Place& place,
                         const ShrunkScenario& shrunk) {
  const std::string name = file_name(candidates.key);
  Scenario scenario = shrunk.scenario;
  scenario.name = name;
  return {.fault = {.cause = candidates.cause,
                    .kind = place.kind,
                    .text = shrunk.text,
                    .cell = cell_name(place.cell),
                    .index = place.index,
                    .num_requests = shrunk.size_after.requests,
                    .num_steps = shrunk.size_after.steps,
                    .file = fmt::format("faults/{}.json", name),
                    .no_file = {}},
          .scenario = write_scenario(scenario)};
}

// A fault whose scenarios are not what its name says.
ShrunkFault fault_without_file(const FaultCandidates& candidates,
                               const FaultCandidates::Place& place, std::string reason) {
  return {.fault = {.cause = candidates.cause,
                    .kind = place.kind,
                    .cell = cell_name(place.cell),
                    .index = place.index,
                    .no_file = std::move(reason)},
          .scenario = {}};
}

}  // namespace

std::vector<FaultCandidates> collect_faults(const MatrixContents& contents) {
  std::map<std::string, FaultCandidates> faults;
  for (const auto& [name, cell] : contents.cells) {
    for (const CellFault& fault : cell.faults) {
      FaultCandidates& one = faults[fault.cause];
      one.key = one.cause = fault.cause;
      one.places.push_back({cell.cell, fault.index, fault.kind, fault.num_requests});
    }
    for (const CellFinding& finding : cell.unexplained) {
      const std::string key = fault_key({.kind = finding.kind});
      FaultCandidates& one = faults[key];
      one.key = key;
      one.places.push_back({cell.cell, finding.first, finding.kind, 0});
    }
  }
  std::vector<FaultCandidates> list;
  for (const auto& [key, one] : faults) {
    if (is_accident(one.cause, [&](const std::string& id) { return faults.contains(id); }))
      continue;
    list.push_back(one);
    keep_smallest(list.back().places);
  }
  return list;
}

Result<std::optional<ShrunkFault>> shrink_fault(const FaultCandidates& candidates,
                                                const CellRunOptions& options) {
  std::optional<std::pair<ScenarioSize, ShrunkFault>> best;
  std::string left;
  for (const FaultCandidates::Place& place : candidates.places) {
    const auto scenarios = scenarios_at(candidates, place, options);
    if (!scenarios.ok()) return scenarios.error();
    ShrinkOptions shrink{.rule = place.kind.rule,
                         .detail = place.kind.detail,
                         .cause = candidates.cause,
                         .keep_max_model_len = true,
                         .max_runs = kMaxRuns};
    if (options.go_on) shrink.go_on = [&](const ShrinkProgress&) { return options.go_on(); };
    for (const Scenario& scenario : scenarios.value()) {
      const auto shrunk = shrink_scenario(scenario, shrink);
      if (options.go_on && !options.go_on()) return std::optional<ShrunkFault>();
      if (!shrunk.ok() && shrunk.error().kind == ErrorKind::not_found) continue;
      if (!shrunk.ok()) return shrunk.error();
      if (!candidates.cause.empty()) {
        auto wrong = left_without_cause(shrunk.value());
        if (!wrong.ok()) return wrong.error();
        if (!wrong.value().empty()) {
          left = std::move(wrong).value();
          continue;
        }
      }
      const ScenarioSize size = shrunk.value().size_after;
      if (!best || size < best->first)
        best = {size, shrunk_fault(candidates, place, shrunk.value())};
      break;
    }
  }
  if (best) return std::optional<ShrunkFault>(std::move(best->second));
  return std::optional<ShrunkFault>(fault_without_file(
      candidates, candidates.places.front(),
      left.empty() ? "no scenario shows it by itself"
                   : fmt::format("without it the smallest scenario still has {}", left)));
}

namespace {

PolicyValue value_at(std::size_t place, std::uint8_t value) {
  PolicyValue one;
  one.place = place;
  one.value = value;
  return one;
}

// "row_order=query_len".
Result<PolicyValue> parse_policy_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  for (const Policy& policy : policy_table()) {
    const PolicyText& words = policy.text;
    if (words.name != text.substr(0, equals)) continue;
    const auto names = words.value_names();
    const auto found = std::ranges::find(names, text.substr(equals + 1));
    if (found != names.end())
      return value_at(policy.place, static_cast<std::uint8_t>(found - names.begin()));
  }
  return invalid_input(fmt::format("there is no policy with this value: {}", text));
}

Status set_values(std::string_view part, PolicyOverrides& policies) {
  if (part.find('=') != std::string_view::npos) {
    const auto value = parse_policy_value(part);
    if (!value.ok()) return value.error();
    policies.set(value.value());
    return Ok{};
  }
  // Bugs that fit equally are the same policies.
  const auto bug = find_known_bug(part.substr(0, part.find(kCauseKeyOr)));
  if (!bug.ok()) return bug.error();
  for (const PolicyValue& value : bug.value()->values()) policies.set(value);
  return Ok{};
}

}  // namespace

Result<PolicyOverrides> policies_of_cause(std::string_view cause) {
  PolicyOverrides policies;
  while (true) {
    const std::size_t end = cause.find('+');
    if (Status set = set_values(cause.substr(0, end), policies); !set.ok()) return set.error();
    if (end == std::string_view::npos) return policies;
    cause.remove_prefix(end + 1);
  }
}

}  // namespace hybridscope
