#include "sessions/scenario/scripted_policies.h"

#include <fmt/format.h>

#include <array>
#include <variant>

#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

constexpr std::array<std::string_view, 3> kCachingPolicies = {
    "mamba_eagle_lookahead", "full_attention_cut", "block_registration"};

EngineSettings settings_of(const CachePolicies& cache) {
  EngineSettings settings;
  settings.policies.mamba_eagle_lookahead = cache.mamba_eagle_lookahead;
  settings.policies.full_attention_cut = cache.full_attention_cut;
  settings.policies.block_registration = cache.block_registration;
  return settings;
}

std::string value_text(const EngineSettings& settings, std::string_view name) {
  return std::get<std::string>(*get_setting(settings, *find_setting("policies", name)));
}

// "full_attention_cut is every_group, not first_spec_group" for each that is not as it would be.
std::string kept_policies(const CachePolicies& kept, const CachePolicies& of_profile) {
  std::string text;
  for (const std::string_view name : kCachingPolicies) {
    const std::string now = value_text(settings_of(kept), name);
    const std::string then = value_text(settings_of(of_profile), name);
    if (now != then)
      text += fmt::format("{}{} is {}, not {}", text.empty() ? "" : ", ", name, now, then);
  }
  return text;
}

}  // namespace

std::span<const std::string_view> caching_policy_names() { return kCachingPolicies; }

void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes) {
  EngineSettings from;
  from.policies = changes;
  EngineSettings to;
  to.policies = policies;
  for (const Setting& setting : settings_table())
    if (setting.section == "policies")
      if (const auto value = get_setting(from, setting)) (void)set_setting(to, setting, *value);
  policies = to.policies;
}

ScriptedPolicies::ScriptedPolicies(const EngineSettings& settings)
    : cache_(resolve_policies(settings).cache) {
  settings_.engine = settings.engine;
  settings_.runner = settings.runner;
  settings_.policies = settings.policies;
}

std::optional<Policies> ScriptedPolicies::change(const ScriptStep& step) {
  if (!step.engine && step.policies == PolicyOverrides{}) return std::nullopt;
  if (step.engine) settings_.engine = step.engine;
  lay_over(settings_.policies, step.policies);
  Policies policies = resolve_policies(settings_);
  policies.cache = cache_;
  return policies;
}

std::vector<std::string> scripted_policy_notes(const EngineSettings& settings,
                                               const std::vector<ScriptStep>& script) {
  const CachePolicies cache = resolve_policies(settings).cache;
  std::vector<std::string> notes;
  for (const ScriptStep& step : script) {
    if (!step.engine) continue;
    EngineSettings changed = settings;
    changed.engine = step.engine;
    const std::string kept = kept_policies(cache, resolve_policies(changed).cache);
    if (kept.empty()) continue;
    notes.push_back(
        fmt::format("step {} changes the profile to {}, but caching policies cannot "
                    "change while an engine runs: {}",
                    step.step, engine_profile_name(*step.engine), kept));
  }
  return notes;
}

}  // namespace hybridscope
