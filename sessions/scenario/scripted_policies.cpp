#include "sessions/scenario/scripted_policies.h"

#include <fmt/core.h>

#include <cstdint>

#include "core/engine/policy_overrides.h"
#include "core/engine/policy_table.h"

namespace hybridscope {
namespace {

// "full_attention_cut is every_group, not first_spec_group" for each policy that is kept and
// differs from the new profile's.
std::string kept_policies(const PolicySet& at_start, const PolicySet& of_profile) {
  PolicySet keeping = of_profile;
  keep_fixed_policies(keeping, at_start);
  std::string text;
  for (const Policy& policy : policy_table()) {
    const std::uint8_t now = policy.value_in(keeping);
    const std::uint8_t then = policy.value_in(of_profile);
    if (now == then) continue;
    text += fmt::format("{}{} is {}, not {}", text.empty() ? "" : ", ", policy.text.name,
                        policy.text.values[now], policy.text.values[then]);
  }
  return text;
}

}  // namespace

ScriptedPolicies::ScriptedPolicies(const EngineSettings& settings)
    : at_start_(resolve_policies(settings)) {
  settings_.engine = settings.engine;
  settings_.runner = settings.runner;
  settings_.policies = settings.policies;
}

std::optional<PolicySet> ScriptedPolicies::change(const ScriptStep& step) {
  if (!step.engine && step.policies == PolicyOverrides{}) return std::nullopt;
  if (step.engine) settings_.engine = step.engine;
  lay_over(settings_.policies, step.policies);
  PolicySet policies = resolve_policies(settings_);
  keep_fixed_policies(policies, at_start_);
  return policies;
}

std::vector<std::string> scripted_policy_notes(const EngineSettings& settings,
                                               const std::vector<ScriptStep>& script) {
  const PolicySet at_start = resolve_policies(settings);
  std::vector<std::string> notes;
  for (const ScriptStep& step : script) {
    if (!step.engine) continue;
    EngineSettings changed = settings;
    changed.engine = step.engine;
    const std::string kept = kept_policies(at_start, resolve_policies(changed));
    if (kept.empty()) continue;
    notes.push_back(
        fmt::format("step {} changes the profile to {}, but policies by which blocks are cached "
                    "or laid out cannot change while an engine runs: {}",
                    step.step, engine_profile_name(*step.engine), kept));
  }
  return notes;
}

}  // namespace hybridscope
