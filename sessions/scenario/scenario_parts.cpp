#include "sessions/scenario/scenario_parts.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/check/finding.h"
#include "core/engine/policy_table.h"
#include "core/model/model_policies.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario_requests.h"
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

namespace {

// A name must be a preset; a path is read later, when the run is planned.
void check_model(const std::string& model) {
  if (model.find('/') != std::string::npos || model.ends_with(".json")) return;
  if (const auto spec = resolve_model(model); !spec.ok())
    throw JsonFault("/model", spec.error().message);
}

JoinSteps check_ids(const Scenario& scenario) {
  JoinSteps by_id;
  if (scenario.requests.empty()) throw JsonFault("/requests", "no request (expected at least one)");
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    const ScenarioRequest& request = scenario.requests[i];
    if (!by_id.emplace(request.id, request.at_step).second)
      throw JsonFault(fmt::format("/requests/{}/id", i),
                      fmt::format("request {} is defined twice", quoted_text(request.id)));
  }
  return by_id;
}

void check_lengths(const Scenario& scenario) {
  const EngineSettings& settings = scenario.settings;
  const std::int32_t budget = settings.max_num_batched_tokens.value_or(8192);
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    const std::int32_t tokens = scenario.requests[i].prompt.tokens;
    if (settings.max_model_len && tokens >= *settings.max_model_len)
      throw JsonFault(fmt::format("/requests/{}/prompt", i),
                      fmt::format("{} prompt tokens with max_model_len {} (expected at most {})",
                                  tokens, *settings.max_model_len, *settings.max_model_len - 1));
    if (settings.enable_chunked_prefill == false && tokens > budget)
      throw JsonFault(fmt::format("/requests/{}/prompt", i),
                      fmt::format("{} prompt tokens with max_num_batched_tokens {} and no chunked "
                                  "prefill: the request could never run (expected at most {})",
                                  tokens, budget, budget));
  }
}

struct NameUse {
  std::string pointer;
  std::string_view id;
  std::int32_t step = 1;
};

void check_name(const NameUse& use, const JoinSteps& requests) {
  const auto found = requests.find(use.id);
  if (found == requests.end())
    throw JsonFault(use.pointer, fmt::format("no request is called {}", quoted_text(use.id)));
  const std::int32_t at_step = found->second;
  if (use.step < at_step)
    throw JsonFault(use.pointer, fmt::format("request {} joins at step {}, after step {}",
                                             quoted_text(use.id), at_step, use.step));
}

void check_budget(const ScriptPlace& place, const EngineSettings& settings) {
  const std::int32_t max_budget = settings.max_num_batched_tokens.value_or(8192);
  if (place.step.budget && *place.step.budget > max_budget)
    throw JsonFault(
        place.pointer + "/budget",
        fmt::format("a budget of {} tokens with max_num_batched_tokens {} (expected at most {})",
                    *place.step.budget, max_budget, max_budget));
}

void check_counts(const ScriptPlace& place, std::int32_t k, const JoinSteps& requests) {
  for (const RequestCount& accept : place.step.accept) {
    const std::string pointer = child_pointer(place.pointer + "/accept", accept.request);
    check_name({pointer, accept.request, place.step.step}, requests);
    if (accept.count >= 1 && accept.count <= k + 1) continue;
    if (k == 0)
      throw JsonFault(pointer,
                      fmt::format("{} accepted tokens, but the engine makes no drafts: "
                                  "num_speculative_tokens is 0 (expected 1, the bonus token)",
                                  accept.count));
    else
      throw JsonFault(pointer, fmt::format("{} accepted tokens with num_speculative_tokens {} "
                                           "(expected 1 to {}, the bonus token included)",
                                           accept.count, k, k + 1));
  }
  for (const RequestCount& drafts : place.step.drafts) {
    const std::string pointer = child_pointer(place.pointer + "/drafts", drafts.request);
    check_name({pointer, drafts.request, place.step.step}, requests);
    if (drafts.count > k && k == 0)
      throw JsonFault(
          pointer, fmt::format("{} drafts, but the engine makes none: num_speculative_tokens is 0",
                               drafts.count));
    else if (drafts.count > k)
      throw JsonFault(pointer,
                      fmt::format("{} drafts with num_speculative_tokens {} (expected 0 to {})",
                                  drafts.count, k, k));
  }
}

void check_names(const ScriptPlace& place, const JoinSteps& requests) {
  const ScriptStep& step = place.step;
  for (std::size_t i = 0; i < step.preempt.size(); ++i)
    check_name({fmt::format("{}/preempt/{}", place.pointer, i), step.preempt[i], step.step},
               requests);
  for (std::size_t i = 0; i < step.abort.size(); ++i)
    check_name({fmt::format("{}/abort/{}", place.pointer, i), step.abort[i], step.step}, requests);
}

void check_policies(const ScriptPlace& place) {
  const auto check = [&](PolicyChange change, std::string_view why) {
    for (const Policy& policy : policy_table())
      if (policy.change == change && place.step.policies.values[policy.place])
        throw JsonFault(child_pointer(place.pointer + "/policies", policy.text.name),
                        fmt::format("{} {} (set it in /settings/policies)", policy.text.name, why));
  };
  check(PolicyChange::not_sizing, "sizes blocks, which cannot change while an engine runs");
  check(PolicyChange::not_caching,
        "is a caching policy, which cannot change while an engine runs: blocks have been cached by "
        "it");
}

void check_rule(const std::string& pointer, std::string_view slug) {
  std::string known;
  for (const RuleInfo& rule : rule_table()) {
    if (rule.slug == slug) return;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", rule.slug);
  }
  throw JsonFault(pointer,
                  fmt::format("no rule is called {} (known: {})", quoted_text(slug), known));
}

}  // namespace

void check_script_step(const ScriptPlace& place, const EngineSettings& settings,
                       const JoinSteps& requests) {
  check_budget(place, settings);
  check_counts(place, resolved_num_speculative_tokens(settings), requests);
  check_names(place, requests);
  check_policies(place);
}

void check_script(const std::vector<ScriptStep>& script, const EngineSettings& settings,
                  const JoinSteps& requests) {
  for (std::size_t i = 0; i < script.size(); ++i)
    check_script_step({.step = script[i], .pointer = fmt::format("/script/{}", i)}, settings,
                      requests);
}

void check_expectation(const Expectation& expect, const JoinSteps& requests) {
  for (std::size_t i = 0; expect.findings && i < expect.findings->size(); ++i) {
    check_rule(fmt::format("/expect/findings/{}/rule", i), (*expect.findings)[i].rule);
    if (const auto& request = (*expect.findings)[i].request)
      check_name({.pointer = fmt::format("/expect/findings/{}/request", i),
                  .id = *request,
                  .step = kMaxStep},
                 requests);
  }
  const auto num_requests = static_cast<std::int64_t>(requests.size());
  if (expect.finished && *expect.finished > num_requests)
    throw JsonFault("/expect/finished",
                    fmt::format("{} finished requests of {}", *expect.finished, num_requests));
}

void check_consistency(const Scenario& scenario) {
  check_model(scenario.model);
  const JoinSteps requests = check_ids(scenario);
  check_lengths(scenario);
  check_script(scenario.script, scenario.settings, requests);
  check_expectation(scenario.expect, requests);
  if (const auto resolved = resolve_requests(scenario); !resolved.ok())
    throw JsonFault("", resolved.error().message);
}

}  // namespace hybridscope
