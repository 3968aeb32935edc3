#include <algorithm>

#include "core/engine/engine.h"

namespace hybridscope {
namespace {

Status out_of_range(const std::string& what, std::int64_t value, std::int64_t low,
                    std::int64_t high) {
  return invalid_input(what + " is " + std::to_string(value) + ", expected " + std::to_string(low) +
                       ".." + std::to_string(high));
}

}  // namespace

Status Engine::apply(const Command& command) {
  if (const auto* add = std::get_if<AddRequest>(&command)) {
    const auto added = add_request(*add);
    if (!added.ok()) return added.error();
    return Ok{};
  }
  RequestId request;
  if (const auto* preempt = std::get_if<PreemptRequest>(&command)) request = preempt->request;
  if (const auto* abort = std::get_if<AbortRequest>(&command)) request = abort->request;
  if (const auto* accepted = std::get_if<SetAcceptedTokens>(&command)) {
    request = accepted->request;
    if (accepted->num_accepted_tokens < 1 ||
        accepted->num_accepted_tokens > 1 + config_.num_speculative_tokens)
      return out_of_range("num_accepted_tokens", accepted->num_accepted_tokens, 1,
                          1 + config_.num_speculative_tokens);
  }
  if (const auto* drafts = std::get_if<SetDraftTokens>(&command)) {
    request = drafts->request;
    if (drafts->num_draft_tokens < 0 || drafts->num_draft_tokens > config_.num_speculative_tokens)
      return out_of_range("num_draft_tokens", drafts->num_draft_tokens, 0,
                          config_.num_speculative_tokens);
  }
  if (const auto* budget = std::get_if<SetStepBudget>(&command);
      budget != nullptr && (budget->max_num_batched_tokens < 0 ||
                            budget->max_num_batched_tokens > config_.max_num_batched_tokens))
    return out_of_range("the step's budget", budget->max_num_batched_tokens, 0,
                        config_.max_num_batched_tokens);
  if (const auto* policies = std::get_if<SetPolicies>(&command);
      policies != nullptr && policies->policies.cache != config_.policies.cache)
    return invalid_input("the caching policies cannot change while an engine runs");
  const bool names_request = !std::holds_alternative<ResetPrefixCache>(command) &&
                             !std::holds_alternative<SetStepBudget>(command) &&
                             !std::holds_alternative<SetPolicies>(command);
  if (names_request && !requests_.contains(request))
    return invalid_input("request " + std::to_string(request.value) + " was never added");
  pending_.push_back(command);
  return Ok{};
}

void Engine::apply_pending(StepTrace& trace) {
  for (const Command& command : pending_) trace.commands.push_back(apply_now(command));
  pending_.clear();
}

CommandTrace Engine::preempt_now(RequestId request) {
  CommandTrace trace{.command = CommandKind::preempt, .request = request};
  if (requests_.holds(request) && scheduler_->preempt(requests_[request].scheduling)) {
    preempted_by_command_.push_back(request);
  } else {
    trace.outcome = CommandOutcome::ignored;
    trace.reason = IgnoredReason::not_running;
  }
  return trace;
}

CommandTrace Engine::abort_now(RequestId request) {
  CommandTrace trace{.command = CommandKind::abort, .request = request};
  if (!requests_.holds(request) ||
      requests_[request].scheduling.status == RequestStatus::finished) {
    trace.outcome = CommandOutcome::ignored;
    trace.reason = IgnoredReason::has_finished;
    return trace;
  }
  scheduler_->abort(requests_[request].scheduling);
  --num_unfinished_;
  return trace;
}

CommandTrace Engine::set_drafts_now(RequestId request, std::int32_t num_draft_tokens) {
  CommandTrace trace{
      .command = CommandKind::set_draft_tokens, .request = request, .value = num_draft_tokens};
  if (config_.async_scheduling) {
    trace.outcome = CommandOutcome::ignored;
    trace.reason = IgnoredReason::drafts_planned_ahead;
    return trace;
  }
  const bool drafts = requests_.holds(request) &&
                      requests_[request].scheduling.status == RequestStatus::running &&
                      !requests_[request].scheduling.is_prefill_chunk;
  if (drafts) {
    requests_[request].scheduling.num_draft_tokens = num_draft_tokens;
  } else {
    trace.outcome = CommandOutcome::ignored;
    trace.reason = IgnoredReason::no_draft_list;
  }
  return trace;
}

// A scripted count is for this step only.
void Engine::drop_unused_accepts(StepTrace& trace) {
  for (const RequestId id : scripted_accepts_) {
    if (!requests_.holds(id)) continue;
    EngineRequest& request = requests_[id];
    if (!request.scripted_num_accepted) continue;
    trace.commands.push_back({.command = CommandKind::set_accepted_tokens,
                              .request = id,
                              .value = *request.scripted_num_accepted,
                              .outcome = CommandOutcome::ignored,
                              .reason = IgnoredReason::samples_nothing});
    request.scripted_num_accepted.reset();
  }
  scripted_accepts_.clear();
}

CommandTrace Engine::apply_now(const Command& command) {
  if (const auto* preempt = std::get_if<PreemptRequest>(&command))
    return preempt_now(preempt->request);
  if (const auto* abort = std::get_if<AbortRequest>(&command)) return abort_now(abort->request);
  if (const auto* reset = std::get_if<ResetPrefixCache>(&command)) {
    CommandTrace trace{.command = CommandKind::reset_prefix_cache,
                       .value = reset->reset_running_requests ? 1 : 0};
    if (reset->reset_running_requests)
      for (auto it = scheduler_->running().rbegin(); it != scheduler_->running().rend(); ++it)
        preempted_by_command_.push_back((*it)->id);
    if (!scheduler_->reset_prefix_cache(reset->reset_running_requests)) {
      trace.outcome = CommandOutcome::ignored;
      trace.reason = reset->reset_running_requests && config_.kv_consumer
                         ? IgnoredReason::frees_deferred
                         : IgnoredReason::blocks_in_use;
    }
    return trace;
  }
  if (const auto* budget = std::get_if<SetStepBudget>(&command)) {
    step_budget_ = budget->max_num_batched_tokens;
    return {.command = CommandKind::set_step_budget, .value = budget->max_num_batched_tokens};
  }
  if (const auto* accepted = std::get_if<SetAcceptedTokens>(&command)) {
    CommandTrace trace{.command = CommandKind::set_accepted_tokens,
                       .request = accepted->request,
                       .value = accepted->num_accepted_tokens};
    if (requests_.holds(accepted->request)) {
      requests_[accepted->request].scripted_num_accepted = accepted->num_accepted_tokens;
      scripted_accepts_.push_back(accepted->request);
    } else {
      trace.outcome = CommandOutcome::ignored;
      trace.reason = IgnoredReason::has_finished;
    }
    return trace;
  }
  if (const auto* drafts = std::get_if<SetDraftTokens>(&command))
    return set_drafts_now(drafts->request, drafts->num_draft_tokens);
  const auto& policies = std::get<SetPolicies>(command).policies;
  config_.policies = policies;
  scheduler_->set_policies(policies);
  worker_.set_policies(policies);
  return {.command = CommandKind::set_policies};
}

}  // namespace hybridscope
