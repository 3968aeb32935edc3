#include "sessions/scenario/scenario_parts.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/settings_json.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::vector<ExpectedFinding> read_findings(const JsonValue& place) {
  std::vector<ExpectedFinding> findings;
  for (const JsonValue& element : place.elements()) {
    element.check_keys({"rule", "step", "request"});
    ExpectedFinding expected;
    expected.rule = element.require("rule").name();
    expected.step = element.int32_at("step", {1, kMaxStep});
    expected.request = element.string_at("request");
    findings.push_back(std::move(expected));
  }
  return findings;
}

std::optional<Release> read_release(const JsonValue& object, std::string_view key) {
  const auto name = object.string_at(key);
  if (!name) return std::nullopt;
  const auto release = parse_release(*name);
  if (!release)
    object.fail_at(key, fmt::format("there is no release {} ({})", quoted_text(*name),
                                    fmt::join(release_names(), ", ")));
  return release;
}

std::vector<ExpectedBug> read_known_bugs(const JsonValue& place) {
  std::vector<ExpectedBug> bugs;
  for (const JsonValue& element : place.elements()) {
    element.check_keys({"bug", "first", "last"});
    ExpectedBug expected;
    const JsonValue bug = element.require("bug");
    const auto found = find_known_bug(bug.name());
    if (!found.ok()) bug.fail(found.error().message);
    expected.id = found.value()->id;
    expected.first = read_release(element, "first");
    expected.last = read_release(element, "last");
    bugs.push_back(std::move(expected));
  }
  return bugs;
}

}  // namespace

Expectation read_expectation(const JsonValue& place) {
  place.check_keys({"findings", "steps", "finished", "known_bugs"});
  Expectation expect;
  if (const auto findings = place.find("findings")) {
    expect.findings.emplace();
    if (!findings->is_string())
      expect.findings = read_findings(*findings);
    else if (findings->text() != "none")
      findings->expected("\"none\" or an array");
  }
  expect.steps = place.int32_at("steps", {0, kMaxStep});
  expect.finished = place.int32_at("finished", {0, kMaxStep});
  if (const auto bugs = place.find("known_bugs")) expect.known_bugs = read_known_bugs(*bugs);
  return expect;
}

nlohmann::ordered_json expectation_to_json(const Expectation& expect) {
  Json json = Json::object();
  if (expect.findings) {
    json["findings"] = expect.findings->empty() ? Json("none") : Json::array();
    for (const ExpectedFinding& finding : *expect.findings) {
      Json element = {{"rule", finding.rule}};
      if (finding.step) element["step"] = *finding.step;
      if (finding.request) element["request"] = *finding.request;
      json["findings"].push_back(std::move(element));
    }
  }
  if (expect.steps) json["steps"] = *expect.steps;
  if (expect.finished) json["finished"] = *expect.finished;
  for (const ExpectedBug& bug : expect.known_bugs) {
    Json element = {{"bug", bug.id}};
    if (bug.first) element["first"] = release_name(*bug.first);
    if (bug.last) element["last"] = release_name(*bug.last);
    json["known_bugs"].push_back(std::move(element));
  }
  return json;
}

namespace {

using Json = nlohmann::ordered_json;

std::vector<RequestCount> read_counts(const std::optional<JsonValue>& place,
                                      const IntegerRange& range) {
  std::vector<RequestCount> counts;
  if (!place) return counts;
  for (const auto& [request, count] : place->members())
    counts.push_back({request, count.int32(range)});
  return counts;
}

std::vector<std::string> read_names(const std::optional<JsonValue>& place) {
  return place ? place->strings() : std::vector<std::string>();
}

PrefixCacheReset read_reset(const JsonValue& place) {
  if (!place.is_object())
    return place.boolean() ? PrefixCacheReset::unless_running : PrefixCacheReset::none;
  place.check_keys({"running"});
  return place.require("running").boolean() ? PrefixCacheReset::preempting_running
                                            : PrefixCacheReset::unless_running;
}

ScriptStep read_step(const JsonValue& place) {
  place.check_keys({"step", "budget", "accept", "drafts", "preempt", "abort", "reset_prefix_cache",
                    "engine", "policies"});
  ScriptStep step;
  step.step = place.require("step").int32({1, kMaxStep});
  step.budget = place.int32_at("budget", {1, kMaxPromptTokens});
  step.accept = read_counts(place.find("accept"), {1, 65});
  step.drafts = read_counts(place.find("drafts"), {0, 64});
  step.preempt = read_names(place.find("preempt"));
  step.abort = read_names(place.find("abort"));
  if (const auto reset = place.find("reset_prefix_cache"))
    step.reset_prefix_cache = read_reset(*reset);
  EngineSettings changed = read_policy_settings(place);
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

std::vector<ScriptStep> read_script(const JsonValue& place) {
  std::vector<ScriptStep> script;
  for (const JsonValue& element : place.elements()) {
    ScriptStep step = read_step(element);
    if (!script.empty() && step.step <= script.back().step)
      element.fail_at(
          "step", fmt::format("step {} after step {} (expected ascending steps, one entry each)",
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
