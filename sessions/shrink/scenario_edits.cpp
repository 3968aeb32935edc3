#include "sessions/shrink/scenario_edits.h"

#include <utility>

#include "core/engine/policy_table.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {
namespace {

bool is_in(ListPart part, std::size_t index) {
  return index >= part.first && index < part.first + part.count;
}

void append(ScriptStep& step, const ScriptStep& thing) {
  if (thing.budget) step.budget = thing.budget;
  step.accept.insert(step.accept.end(), thing.accept.begin(), thing.accept.end());
  step.drafts.insert(step.drafts.end(), thing.drafts.begin(), thing.drafts.end());
  step.preempt.insert(step.preempt.end(), thing.preempt.begin(), thing.preempt.end());
  step.abort.insert(step.abort.end(), thing.abort.begin(), thing.abort.end());
  if (thing.reset_prefix_cache != PrefixCacheReset::none)
    step.reset_prefix_cache = thing.reset_prefix_cache;
  if (thing.engine) step.engine = thing.engine;
  lay_over(step.policies, thing.policies);
}

void add_policies(const ScriptStep& step, std::vector<ScriptStep>& things) {
  for (const Policy& policy : policy_table()) {
    const auto value = step.policies.values[policy.place];
    if (!value) continue;
    ScriptStep thing;
    thing.step = step.step;
    thing.policies.values[policy.place] = value;
    things.push_back(std::move(thing));
  }
}

// Does the step have no commands?
bool is_about_nobody(const ScriptStep& step) {
  ScriptStep empty;
  empty.step = step.step;
  return step == empty;
}

bool set_number(EngineSettings& settings, std::string_view section, std::string_view name,
                std::int64_t value) {
  return set_setting(settings, *find_setting(section, name), setting_value(value).value()).ok();
}

void reset(EngineSettings& settings, const Setting& setting) {
  EngineSettings others;
  for (const Setting& row : settings_table()) {
    if (&row == &setting) continue;
    if (const auto value = get_setting(settings, row)) (void)set_setting(others, row, *value).ok();
  }
  settings = std::move(others);
}

const Setting& k_row() { return *find_setting("speculative_config", "num_speculative_tokens"); }
const Setting& method_row() { return *find_setting("speculative_config", "method"); }

void cut_script_to(std::int32_t k, std::vector<ScriptStep>& script) {
  for (ScriptStep& step : script) {
    for (RequestCount& accept : step.accept) accept.count = std::min(accept.count, k + 1);
    for (RequestCount& drafts : step.drafts) drafts.count = std::min(drafts.count, k);
    if (k > 0) continue;
    step.accept.clear();
    step.drafts.clear();
  }
  std::erase_if(script, is_about_nobody);
}

}  // namespace

std::vector<ScriptStep> split_script(const std::vector<ScriptStep>& script) {
  std::vector<ScriptStep> things;
  for (const ScriptStep& step : script) {
    const auto add = [&](auto set) {
      ScriptStep thing;
      thing.step = step.step;
      set(thing);
      things.push_back(std::move(thing));
    };
    if (step.budget) add([&](ScriptStep& thing) { thing.budget = step.budget; });
    for (const RequestCount& count : step.accept)
      add([&](ScriptStep& thing) { thing.accept.push_back(count); });
    for (const RequestCount& count : step.drafts)
      add([&](ScriptStep& thing) { thing.drafts.push_back(count); });
    for (const std::string& request : step.preempt)
      add([&](ScriptStep& thing) { thing.preempt.push_back(request); });
    for (const std::string& request : step.abort)
      add([&](ScriptStep& thing) { thing.abort.push_back(request); });
    if (step.reset_prefix_cache != PrefixCacheReset::none)
      add([&](ScriptStep& thing) { thing.reset_prefix_cache = step.reset_prefix_cache; });
    if (step.engine) add([&](ScriptStep& thing) { thing.engine = step.engine; });
    add_policies(step, things);
  }
  return things;
}

std::vector<ScriptStep> join_script(std::span<const ScriptStep> things) {
  std::vector<ScriptStep> script;
  for (const ScriptStep& thing : things) {
    if (script.empty() || script.back().step != thing.step) {
      script.emplace_back();
      script.back().step = thing.step;
    }
    append(script.back(), thing);
  }
  return script;
}

Scenario without_requests(const Scenario& scenario, ListPart part) {
  Scenario smaller = scenario;
  std::vector<std::string> dropped;
  smaller.requests.clear();
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    if (is_in(part, i))
      dropped.push_back(scenario.requests[i].id);
    else
      smaller.requests.push_back(scenario.requests[i]);
  }
  const auto is_dropped = [&](const std::string& id) {
    return std::ranges::find(dropped, id) != dropped.end();
  };
  const auto counts_dropped = [&](const RequestCount& count) { return is_dropped(count.request); };
  for (ScriptStep& step : smaller.script) {
    std::erase_if(step.accept, counts_dropped);
    std::erase_if(step.drafts, counts_dropped);
    std::erase_if(step.preempt, is_dropped);
    std::erase_if(step.abort, is_dropped);
  }
  std::erase_if(smaller.script, is_about_nobody);
  return smaller;
}

Scenario without_script(const Scenario& scenario, ListPart part) {
  Scenario smaller = scenario;
  const std::vector<ScriptStep> things = split_script(scenario.script);
  std::vector<ScriptStep> kept;
  for (std::size_t i = 0; i < things.size(); ++i)
    if (!is_in(part, i)) kept.push_back(things[i]);
  smaller.script = join_script(kept);
  return smaller;
}

std::vector<std::size_t> sharing_requests(const Scenario& scenario) {
  std::vector<std::size_t> sharing;
  for (std::size_t i = 0; i < scenario.requests.size(); ++i)
    if (!scenario.requests[i].prompt.share.empty()) sharing.push_back(i);
  return sharing;
}

Scenario without_sharing(const Scenario& scenario, ListPart part) {
  Scenario smaller = scenario;
  const std::vector<std::size_t> sharing = sharing_requests(scenario);
  for (std::size_t i = 0; i < sharing.size(); ++i)
    if (is_in(part, i)) {
      PromptSpec& prompt = smaller.requests[sharing[i]].prompt;
      prompt = {.tokens = prompt.tokens};
    }
  return smaller;
}

std::vector<const Setting*> set_settings(const EngineSettings& settings) {
  std::vector<const Setting*> rows;
  for (const Setting& row : settings_table()) {
    if (!get_setting(settings, row)) continue;
    if (&row == &method_row() && settings.num_speculative_tokens) continue;
    if (row.name == "num_gpu_blocks_override") continue;
    if (row.name == "kv_cache_memory_bytes" && !settings.num_gpu_blocks_override) continue;
    rows.push_back(&row);
  }
  return rows;
}

Scenario without_settings(const Scenario& scenario, ListPart part) {
  Scenario smaller = scenario;
  const std::vector<const Setting*> rows = set_settings(scenario.settings);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_in(part, i)) continue;
    reset(smaller.settings, *rows[i]);
    if (rows[i] != &k_row()) continue;
    reset(smaller.settings, method_row());
    cut_script_to(0, smaller.script);
  }
  return smaller;
}

Scenario with_num_speculative_tokens(const Scenario& scenario, std::int32_t k) {
  Scenario smaller = scenario;
  if (set_number(smaller.settings, "speculative_config", "num_speculative_tokens", k))
    cut_script_to(k, smaller.script);
  return smaller;
}

std::vector<Scenario> with_one_policy(const Scenario& scenario) {
  std::vector<Scenario> smaller;
  EngineSettings whole;
  whole.engine = scenario.settings.engine.value_or(EngineProfile::safe);
  whole.runner = scenario.settings.runner;  // part of what defines a day's profile
  if (whole.engine == EngineProfile::safe) return smaller;
  const EngineSettings safe;
  for (const Setting& row : settings_table()) {
    if (row.section != "policies" || get_setting(scenario.settings, row)) continue;
    for (const std::string_view choice : row.choices) {
      const auto with_choice = [&](EngineSettings settings) {
        (void)set_setting_text(settings, row, choice).ok();
        return settings;
      };
      // Only values that the profile has and profile safe does not.
      if (resolve_policies(with_choice(whole)) != resolve_policies(whole)) continue;
      if (resolve_policies(with_choice(safe)) == resolve_policies(safe)) continue;
      Scenario one = scenario;
      one.settings.engine.reset();
      one.settings = with_choice(std::move(one.settings));
      smaller.push_back(std::move(one));
    }
  }
  return smaller;
}

Scenario with_scripted_draws(const Scenario& scenario, std::span<const Draw> draws,
                             std::optional<int> rate) {
  Scenario scripted = scenario;
  scripted.settings.seed.reset();
  scripted.settings.acceptance_rate.reset();
  if (rate) scripted.settings.acceptance_rate = *rate;
  std::vector<ScriptStep> things = split_script(scenario.script);
  for (const Draw& draw : draws) {
    ScriptStep thing;
    thing.step = draw.step;
    if (draw.kind == Draw::Kind::num_drafts)
      thing.drafts.push_back({.request = draw.request, .count = draw.count});
    else if (!rate || draw.count != (*rate == 0 ? 1 : draw.most))
      thing.accept.push_back({.request = draw.request, .count = draw.count});
    else
      continue;
    things.push_back(std::move(thing));
  }
  std::stable_sort(things.begin(), things.end(),
                   [](const ScriptStep& a, const ScriptStep& b) { return a.step < b.step; });
  scripted.script = join_script(things);
  return scripted;
}

Scenario cut_behind(const Scenario& scenario, std::int64_t step,
                    std::span<const std::int32_t> num_output_tokens, std::int32_t margin) {
  Scenario smaller = scenario;
  std::erase_if(smaller.script, [&](const ScriptStep& s) { return s.step > step; });
  for (std::size_t i = 0; i < smaller.requests.size(); ++i) {
    std::int32_t& max_tokens = smaller.requests[i].max_tokens;
    max_tokens = std::min(max_tokens, std::max(1, num_output_tokens[i] + margin));
  }
  return smaller;
}

}  // namespace hybridscope
