// Resolves names and sharing into the engine's inputs: prompt segments, request keys, commands, and
// the policies of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/engine/command.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// A request and its arrival: the common result of scenario files, traffic files and the generator.

// Joins before the first step whose number is at least `at_step` (counted from 1) and that starts
// at or after `arrival_us`, and not before `delay_us` after the end of the last request of `after`.
struct ArrivingRequest {
  std::int32_t at_step = 1;
  std::int64_t arrival_us = 0;
  AddRequest request;
  std::vector<std::string> after = {};  // names of other requests
  std::int64_t delay_us = 0;            // think time, or what a tool takes
};

std::int64_t num_prompt_tokens(const AddRequest& request);

// Tokens [first, end) of a prompt.
std::vector<PromptSegment> part_of_prompt(const std::vector<PromptSegment>& prompt,
                                          std::int64_t first, std::int64_t end);

// The tokens that `request` generates, as a part of later prompts.
PromptSegment answer_of(const AddRequest& request, std::int64_t num_prompt_tokens);
// Its prompt and its answer.
std::vector<PromptSegment> sequence_of(const AddRequest& request);

// In the order in which they join: by (at_step, arrival_us), then as in the file. Error, with the
// pointer of the request ("/requests/1/prompt/share"): circular sharing, or sharing past the end of
// a sequence.
Result<std::vector<ArrivingRequest>> resolve_requests(const Scenario& scenario);

// A request added to those of a run: it may share the sequence of one of them, or else a text.
// Errors as above, without a pointer.
Result<AddRequest> resolve_request(const ScenarioRequest& request,
                                   std::span<const ArrivingRequest> known);

// The commands of one script step except policies, in the order reset, abort, preempt, budget,
// drafts, accept. `find` returns the engine's id of a request; a request that has not joined (value
// -1) gets no command.
using FindRequestId = std::function<RequestId(std::string_view)>;
std::vector<Command> script_commands(const ScriptStep& step, const FindRequestId& find);

// The policies from step to step when a script changes them. Policies set one by one override every
// profile. What keep_fixed_policies keeps never changes.

class ScriptedPolicies {
 public:
  explicit ScriptedPolicies(const EngineSettings& settings);

  // The policies from this step on; empty: the step changes none.
  std::optional<PolicySet> change(const ScriptStep& step);

 private:
  EngineSettings settings_;  // only profile, runner and policies are used
  PolicySet at_start_;
};

// The policies that a change of profile does not change, one sentence per step.
std::vector<std::string> scripted_policy_notes(const EngineSettings& settings,
                                               const std::vector<ScriptStep>& script);

}  // namespace hybridscope
