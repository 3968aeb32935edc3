#include "sessions/scenario/scenario_checks.h"

#include <fmt/core.h>

#include <string>

#include "core/check/finding.h"
#include "core/engine/policy_table.h"
#include "core/model/conv_state_sizing.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {
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
    throw JsonFault(place.pointer + "/budget",
                    fmt::format("a budget of {} tokens with max_num_batched_tokens {} (expected at "
                                "most {})",
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
      throw JsonFault(pointer,
                      fmt::format("{} accepted tokens with num_speculative_tokens {} (expected "
                                  "1 to {}, the bonus token included)",
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
        "is a caching policy, which cannot change while an engine runs: blocks have been cached "
        "by it");
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
