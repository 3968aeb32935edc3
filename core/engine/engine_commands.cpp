#include <string>
#include <type_traits>

#include "core/engine/engine.h"
#include "core/engine/policy_table.h"

namespace hybridscope {
namespace {

Status check_range(const std::string& what, std::int64_t value, std::int64_t low,
                   std::int64_t high) {
  if (value >= low && value <= high) return Ok{};
  return invalid_input(what + " is " + std::to_string(value) + ", expected " + std::to_string(low) +
                       ".." + std::to_string(high));
}

}  // namespace

// For each type of command: `check` decides on arrival whether it can ever be carried out;
// `carry_out` runs when the next step begins.
struct Engine::CommandRules {
  Engine& engine;

  Status check(const PreemptRequest& command) const { return check_added(command.request); }
  CommandTrace carry_out(const PreemptRequest& command) const {
    const RequestId request = command.request;
    const bool runs = engine.requests_.holds(request) &&
                      engine.scheduler_->preempt(engine.requests_[request].scheduling);
    if (runs) engine.preempted_by_command_.push_back(request);
    return traced({.command = CommandKind::preempt, .request = request},
                  runs ? IgnoredReason::none : IgnoredReason::not_running);
  }

  Status check(const AbortRequest& command) const { return check_added(command.request); }
  CommandTrace carry_out(const AbortRequest& command) const {
    const CommandTrace trace{.command = CommandKind::abort, .request = command.request};
    if (!engine.requests_.holds(command.request)) return traced(trace, IgnoredReason::has_finished);
    Request& request = engine.requests_[command.request].scheduling;
    if (request.status == RequestStatus::finished)
      return traced(trace, IgnoredReason::has_finished);
    engine.scheduler_->abort(request);
    --engine.num_unfinished_;
    return trace;
  }

  Status check(const ResetPrefixCache&) const { return Ok{}; }
  CommandTrace carry_out(const ResetPrefixCache& command) const {
    const bool resets_running = command.reset_running_requests;
    const CommandTrace trace{.command = CommandKind::reset_prefix_cache,
                             .value = resets_running ? 1 : 0};
    const auto& running = engine.scheduler_->running();
    if (resets_running)
      for (auto it = running.rbegin(); it != running.rend(); ++it)
        engine.preempted_by_command_.push_back((*it)->id);
    if (engine.scheduler_->reset_prefix_cache(resets_running)) return trace;
    return traced(trace, resets_running && engine.config_->kv_consumer
                             ? IgnoredReason::frees_deferred
                             : IgnoredReason::blocks_in_use);
  }

  Status check(const SetStepBudget& command) const {
    return check_range("the step's budget", command.max_num_batched_tokens, 0,
                       engine.config_->max_num_batched_tokens);
  }
  CommandTrace carry_out(const SetStepBudget& command) const {
    engine.step_budget_ = command.max_num_batched_tokens;
    return {.command = CommandKind::set_step_budget, .value = command.max_num_batched_tokens};
  }

  Status check(const SetAcceptedTokens& command) const {
    const Status in_range = check_range("num_accepted_tokens", command.num_accepted_tokens, 1,
                                        1 + engine.config_->num_speculative_tokens);
    return in_range.ok() ? check_added(command.request) : in_range;
  }
  CommandTrace carry_out(const SetAcceptedTokens& command) const {
    const CommandTrace trace{.command = CommandKind::set_accepted_tokens,
                             .request = command.request,
                             .value = command.num_accepted_tokens};
    if (!engine.requests_.holds(command.request)) return traced(trace, IgnoredReason::has_finished);
    engine.requests_[command.request].scripted_num_accepted_tokens = command.num_accepted_tokens;
    engine.scripted_accepts_.push_back(command.request);
    return trace;
  }

  Status check(const SetDraftTokens& command) const {
    const Status in_range = check_range("num_draft_tokens", command.num_draft_tokens, 0,
                                        engine.config_->num_speculative_tokens);
    return in_range.ok() ? check_added(command.request) : in_range;
  }
  CommandTrace carry_out(const SetDraftTokens& command) const {
    const CommandTrace trace{.command = CommandKind::set_draft_tokens,
                             .request = command.request,
                             .value = command.num_draft_tokens};
    if (engine.config_->async_scheduling) return traced(trace, IgnoredReason::drafts_planned_ahead);
    if (!engine.requests_.holds(command.request))
      return traced(trace, IgnoredReason::no_draft_list);
    Request& request = engine.requests_[command.request].scheduling;
    if (request.status != RequestStatus::running || request.is_prefill_chunk)
      return traced(trace, IgnoredReason::no_draft_list);
    request.num_draft_tokens = command.num_draft_tokens;
    return trace;
  }

  Status check(const SetPolicies& command) const {
    PolicySet kept = command.policies;
    keep_fixed_policies(kept, engine.config_->policies);
    if (kept == command.policies) return Ok{};
    PolicySet sizing_changed = command.policies;
    keep_caching_policies(sizing_changed, engine.config_->policies);
    return invalid_input(sizing_changed == command.policies
                             ? "conv_state_sizing sizes blocks, which cannot change while an "
                               "engine runs"
                             : "the caching policies cannot change while an engine runs");
  }
  CommandTrace carry_out(const SetPolicies& command) const {
    engine.config_->policies = command.policies;
    return {.command = CommandKind::set_policies};
  }

  Status check_added(RequestId request) const {
    if (engine.requests_.contains(request)) return Ok{};
    return invalid_input("request " + std::to_string(request.value) + " was never added");
  }
  // The command with what became of it; none: it was carried out.
  static CommandTrace traced(CommandTrace trace, IgnoredReason reason) {
    if (reason != IgnoredReason::none) trace.outcome = CommandOutcome::ignored;
    trace.reason = reason;
    return trace;
  }
};

Status Engine::apply(const Command& command) {
  return std::visit(
      [this]<class C>(const C& one) -> Status {
        if constexpr (std::is_same_v<C, AddRequest>) {
          const auto added = add_request(one);
          if (!added.ok()) return added.error();
        } else {
          if (Status checked = CommandRules{*this}.check(one); !checked.ok()) return checked;
          pending_.push_back(one);
        }
        return Ok{};
      },
      command);
}

void Engine::apply_pending(StepTrace& trace) {
  for (const DeferredCommand& command : pending_)
    trace.commands.push_back(std::visit(
        [this](const auto& one) { return CommandRules{*this}.carry_out(one); }, command));
  pending_.clear();
}

// A scripted count is for this step only.
void Engine::drop_unused_accepts(StepTrace& trace) {
  for (const RequestId id : scripted_accepts_) {
    if (!requests_.holds(id)) continue;
    EngineRequest& request = requests_[id];
    if (!request.scripted_num_accepted_tokens) continue;
    trace.commands.push_back({.command = CommandKind::set_accepted_tokens,
                              .request = id,
                              .value = *request.scripted_num_accepted_tokens,
                              .outcome = CommandOutcome::ignored,
                              .reason = IgnoredReason::samples_nothing});
    request.scripted_num_accepted_tokens.reset();
  }
  scripted_accepts_.clear();
}

}  // namespace hybridscope
