#include "sessions/scenario/scenario_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/fingerprint.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {
namespace {

using Prompt = std::vector<PromptSegment>;

// Appends the first `count` tokens of `segments`; returns how many are still missing.
std::int32_t append_prefix(Prompt& prompt, const Prompt& segments, std::int32_t count) {
  for (const PromptSegment& segment : segments) {
    if (count == 0) break;
    PromptSegment part = segment;
    part.length = std::min(segment.length, count);
    count -= part.length;
    prompt.push_back(part);
  }
  return count;
}

// The part of a prompt that is not shared.
void append_own(Prompt& prompt, const ScenarioRequest& request) {
  const PromptSpec& spec = request.prompt;
  for (const char byte : spec.text)
    prompt.push_back(
        {.content = kByteText, .first = static_cast<unsigned char>(byte), .length = 1});
  if (spec.text.empty() && spec.tokens > spec.share_tokens)
    prompt.push_back({.content = text_content(request.id),
                      .first = spec.share_tokens,
                      .length = spec.tokens - spec.share_tokens});
}

class PromptResolver {
 public:
  explicit PromptResolver(const Scenario& scenario)
      : requests_(scenario.requests), prompts_(requests_.size()), states_(requests_.size()) {
    for (std::size_t i = 0; i < requests_.size(); ++i) index_of_.emplace(requests_[i].id, i);
  }

  // Follows the chain of sharing in a loop, so that a long chain cannot overflow the stack.
  Status resolve(std::size_t index) {
    std::vector<std::size_t> chain;
    for (std::size_t i = index; states_[i] != State::resolved;) {
      if (states_[i] == State::in_chain) return circle(chain, i);
      states_[i] = State::in_chain;
      chain.push_back(i);
      const auto shared = index_of_.find(requests_[i].prompt.share);
      if (requests_[i].prompt.share.empty() || shared == index_of_.end()) break;
      i = shared->second;
    }
    for (; !chain.empty(); chain.pop_back()) {
      if (Status built = build(chain.back()); !built.ok()) return built;
      states_[chain.back()] = State::resolved;
    }
    return Ok{};
  }

  Prompt take(std::size_t index) { return std::move(prompts_[index]); }

 private:
  static constexpr std::size_t kMaxPieces = 4'000'000;  // 96 MB of prompt segments
  enum class State : std::uint8_t { untouched, in_chain, resolved };

  static Error at(std::size_t index, std::string_view member, const std::string& message) {
    return invalid_input(fmt::format("/requests/{}/prompt/{}: {}", index, member, message));
  }

  Error circle(const std::vector<std::size_t>& chain, std::size_t index) const {
    std::string path = requests_[index].id;
    for (auto i = std::find(chain.begin(), chain.end(), index) + 1; i < chain.end(); ++i)
      path += " -> " + requests_[*i].id;
    return at(index, "share",
              fmt::format("sharing goes in a circle: {} -> {}", path, requests_[index].id));
  }

  // Requires: if the request shares another one's sequence, that request is resolved.
  Status build(std::size_t index) {
    const ScenarioRequest& request = requests_[index];
    const PromptSpec& spec = request.prompt;
    Prompt& prompt = prompts_[index];
    const auto shared = spec.share.empty() ? index_of_.end() : index_of_.find(spec.share);
    if (shared != index_of_.end()) {
      if (Status added = share_sequence(index, shared->second); !added.ok()) return added;
    } else if (spec.share_tokens > 0) {
      prompt.push_back({.content = text_content(spec.share), .length = spec.share_tokens});
    }
    append_own(prompt, request);
    return Ok{};
  }

  Status share_sequence(std::size_t index, std::size_t source) {
    const ScenarioRequest& shared = requests_[source];
    const std::int32_t wanted = requests_[index].prompt.share_tokens;
    const std::int64_t length = std::int64_t{shared.prompt.tokens} + shared.max_tokens;
    if (wanted > length)
      return at(index, "share_tokens",
                fmt::format("{} tokens of request {}, whose sequence ends at {} prompt + {} output "
                            "tokens (expected at most {})",
                            wanted, quoted_text(shared.id), shared.prompt.tokens, shared.max_tokens,
                            length));
    const std::int32_t output = append_prefix(prompts_[index], prompts_[source], wanted);
    num_pieces_ += prompts_[index].size();
    if (num_pieces_ > kMaxPieces)
      return at(index, "share",
                fmt::format("sharing makes more than {} prompt pieces in all", kMaxPieces));
    if (output > 0)
      prompts_[index].push_back({.source = PromptSegment::Source::output,
                                 .content = request_key(shared.id),
                                 .first = shared.prompt.tokens,
                                 .length = output});
    return Ok{};
  }

  const std::vector<ScenarioRequest>& requests_;
  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::vector<Prompt> prompts_;
  std::vector<State> states_;
  std::size_t num_pieces_ = 0;
};

}  // namespace

Result<std::vector<ArrivingRequest>> resolve_requests(const Scenario& scenario) {
  PromptResolver resolver(scenario);
  for (std::size_t i = 0; i < scenario.requests.size(); ++i)
    if (const Status resolved = resolver.resolve(i); !resolved.ok()) return resolved.error();

  std::vector<ArrivingRequest> arriving;
  arriving.reserve(scenario.requests.size());
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    const ScenarioRequest& request = scenario.requests[i];
    arriving.push_back({.at_step = request.at_step,
                        .arrival_us = request.arrival_us,
                        .request = {.name = request.id,
                                    .prompt = resolver.take(i),
                                    .max_tokens = request.max_tokens,
                                    .priority = request.priority,
                                    .cache_salt = request.cache_salt,
                                    .key = request_key(request.id)}});
  }
  std::stable_sort(arriving.begin(), arriving.end(),
                   [](const ArrivingRequest& a, const ArrivingRequest& b) {
                     return std::tie(a.at_step, a.arrival_us) < std::tie(b.at_step, b.arrival_us);
                   });
  return arriving;
}

Result<AddRequest> resolve_request(const ScenarioRequest& request,
                                   std::span<const ArrivingRequest> known) {
  const PromptSpec& spec = request.prompt;
  AddRequest resolved{.name = request.id,
                      .prompt = {},
                      .max_tokens = request.max_tokens,
                      .priority = request.priority,
                      .cache_salt = request.cache_salt,
                      .key = request_key(request.id)};
  const auto shared = std::find_if(known.begin(), known.end(), [&](const ArrivingRequest& r) {
    return r.request.name == spec.share;
  });
  if (shared == known.end() && spec.share_tokens > 0)
    resolved.prompt.push_back({.content = text_content(spec.share), .length = spec.share_tokens});
  if (shared != known.end()) {
    const std::int64_t prompt = num_prompt_tokens(shared->request);
    if (spec.share_tokens > prompt + shared->request.max_tokens)
      return invalid_input(
          fmt::format("request {}: {} tokens of request {}, whose sequence ends at {} prompt + {} "
                      "output tokens",
                      quoted_text(request.id), spec.share_tokens, quoted_text(spec.share), prompt,
                      shared->request.max_tokens));
    resolved.prompt = part_of_prompt(sequence_of(shared->request), 0, spec.share_tokens);
  }
  append_own(resolved.prompt, request);
  return resolved;
}

std::vector<Command> script_commands(const ScriptStep& step, const FindRequestId& find) {
  std::vector<Command> commands;
  const auto each = [&](const auto& names, auto&& make) {
    for (const auto& name : names) {
      std::string_view id;
      if constexpr (requires { name.request; })
        id = name.request;
      else
        id = name;
      if (const RequestId request = find(id); request.value >= 0)
        commands.emplace_back(make(request, name));
    }
  };
  if (step.reset_prefix_cache != PrefixCacheReset::none)
    commands.emplace_back(ResetPrefixCache{
        .reset_running_requests = step.reset_prefix_cache == PrefixCacheReset::preempting_running});
  each(step.abort, [](RequestId id, const std::string&) { return AbortRequest{id}; });
  each(step.preempt, [](RequestId id, const std::string&) { return PreemptRequest{id}; });
  if (step.budget) commands.emplace_back(SetStepBudget{*step.budget});
  each(step.drafts, [](RequestId id, const RequestCount& r) {
    return SetDraftTokens{id, r.count};
  });
  each(step.accept, [](RequestId id, const RequestCount& r) {
    return SetAcceptedTokens{id, r.count};
  });
  return commands;
}

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
        fmt::format("step {} changes the profile to {}, but policies by which blocks are cached or "
                    "laid out cannot change while an engine runs: {}",
                    step.step, engine_profile_name(*step.engine), kept));
  }
  return notes;
}

std::int64_t num_prompt_tokens(const AddRequest& request) {
  std::int64_t tokens = 0;
  for (const PromptSegment& segment : request.prompt) tokens += segment.length;
  return tokens;
}

std::vector<PromptSegment> part_of_prompt(const std::vector<PromptSegment>& prompt,
                                          std::int64_t first, std::int64_t end) {
  std::vector<PromptSegment> part;
  std::int64_t start = 0;
  for (const PromptSegment& segment : prompt) {
    const std::int64_t from = std::max(first, start);
    const std::int64_t to = std::min(end, start + segment.length);
    if (from < to) {
      part.push_back(segment);
      part.back().first += static_cast<std::int32_t>(from - start);
      part.back().length = static_cast<std::int32_t>(to - from);
    }
    start += segment.length;
  }
  return part;
}

PromptSegment answer_of(const AddRequest& request, std::int64_t num_prompt_tokens) {
  return {.source = PromptSegment::Source::output,
          .content = request.key,
          .first = static_cast<std::int32_t>(num_prompt_tokens),
          .length = request.max_tokens};
}

std::vector<PromptSegment> sequence_of(const AddRequest& request) {
  std::vector<PromptSegment> sequence = request.prompt;
  sequence.push_back(answer_of(request, num_prompt_tokens(request)));
  return sequence;
}

}  // namespace hybridscope
