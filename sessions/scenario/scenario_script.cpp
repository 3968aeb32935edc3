#include "sessions/scenario/scenario_script.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/settings_json.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::vector<RequestCount> read_counts(const std::optional<JsonPlace>& place,
                                      const IntegerRange& range, JsonErrors& errors) {
  std::vector<RequestCount> counts;
  if (!place) return counts;
  for (const JsonMember& member : read_members(*place, errors))
    counts.push_back(
        {member.key, static_cast<std::int32_t>(read_integer(member.place, range, errors))});
  return counts;
}

std::vector<std::string> read_names(const std::optional<JsonPlace>& place, JsonErrors& errors) {
  std::vector<std::string> names;
  if (!place) return names;
  for (const JsonPlace& element : read_array(*place, errors))
    names.push_back(read_string(element, errors));
  return names;
}

PrefixCacheReset read_reset(const JsonPlace& place, JsonErrors& errors) {
  if (!place.value->is_object())
    return read_boolean(place, errors) ? PrefixCacheReset::unless_running : PrefixCacheReset::none;
  const ObjectReader reader(place, {"running"}, errors);
  const auto running = reader.require("running");
  return running && read_boolean(*running, errors) ? PrefixCacheReset::preempting_running
                                                   : PrefixCacheReset::unless_running;
}

ScriptStep read_step(const JsonPlace& place, JsonErrors& errors) {
  const ObjectReader reader(place,
                            {"step", "budget", "accept", "drafts", "preempt", "abort",
                             "reset_prefix_cache", "engine", "policies"},
                            errors);
  ScriptStep step;
  reader.require("step");
  step.step = static_cast<std::int32_t>(reader.integer("step", {1, kMaxStep}).value_or(1));
  if (const auto budget = reader.integer("budget", {1, kMaxPromptTokens}))
    step.budget = static_cast<std::int32_t>(*budget);
  step.accept = read_counts(reader.find("accept"), {1, 65}, errors);
  step.drafts = read_counts(reader.find("drafts"), {0, 64}, errors);
  step.preempt = read_names(reader.find("preempt"), errors);
  step.abort = read_names(reader.find("abort"), errors);
  if (const auto reset = reader.find("reset_prefix_cache"))
    step.reset_prefix_cache = read_reset(*reset, errors);
  EngineSettings changed = read_policy_settings(reader, errors);
  step.engine = changed.engine;
  step.policies = changed.policies;
  return step;
}

Json counts_to_json(const std::vector<RequestCount>& counts) {
  Json json = Json::object();
  for (const RequestCount& count : counts) json[count.request] = count.count;
  return json;
}

}  // namespace

std::vector<ScriptStep> read_script(const JsonPlace& place, JsonErrors& errors) {
  std::vector<ScriptStep> script;
  for (const JsonPlace& element : read_array(place, errors)) {
    ScriptStep step = read_step(element, errors);
    if (!script.empty() && step.step <= script.back().step)
      errors.fail(child_pointer(element.pointer, "step"),
                  fmt::format("step {} after step {} (expected ascending steps, one entry each)",
                              step.step, script.back().step));
    script.push_back(std::move(step));
  }
  return script;
}

nlohmann::ordered_json script_step_to_json(const ScriptStep& step) {
  Json json = {{"step", step.step}};
  if (step.budget) json["budget"] = *step.budget;
  if (!step.accept.empty()) json["accept"] = counts_to_json(step.accept);
  if (!step.drafts.empty()) json["drafts"] = counts_to_json(step.drafts);
  if (!step.preempt.empty()) json["preempt"] = step.preempt;
  if (!step.abort.empty()) json["abort"] = step.abort;
  if (step.reset_prefix_cache == PrefixCacheReset::unless_running)
    json["reset_prefix_cache"] = true;
  else if (step.reset_prefix_cache == PrefixCacheReset::preempting_running)
    json["reset_prefix_cache"] = {{"running", true}};
  EngineSettings changed;
  changed.engine = step.engine;
  changed.policies = step.policies;
  json.update(settings_to_json(changed));
  return json;
}

}  // namespace hybridscope
