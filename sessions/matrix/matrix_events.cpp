#include "sessions/matrix/matrix_events.h"

#include <algorithm>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/cudagraph_mode.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {
namespace {

bool has_drafts(const MatrixCell& cell) { return cell.num_speculative_tokens() > 0; }

bool is_align(const MatrixCell& cell) { return cell.mamba_cache_mode() == MambaCacheMode::align; }

template <class Wanted>
std::int64_t count_decisions(const CopyLaunch& launch, const Wanted& wanted) {
  return std::ranges::count_if(launch.decisions,
                               [&](const CopyDecisionTrace& one) { return wanted(one.decision); });
}

std::int64_t copies(const CopyLaunch& launch) {
  return count_decisions(launch, [](const StateCopyDecision& one) { return one.copies(); });
}

template <class Wanted>
std::int64_t count_both(const StepTrace& trace, const Wanted& wanted) {
  return count_decisions(trace.pre_copies, wanted) + count_decisions(trace.post_copies, wanted);
}

bool is_past_prompt(const ScheduledTrace& one) {
  return one.num_computed_tokens >= one.num_prompt_tokens;
}

std::int64_t count_no_draft_step(const StepTrace& trace, const EngineConfig& config) {
  if (config.num_speculative_tokens == 0) return 0;
  return std::ranges::any_of(trace.scheduled, is_past_prompt) &&
         std::ranges::none_of(trace.scheduled,
                              [](const ScheduledTrace& one) { return one.num_draft_tokens > 0; });
}

std::int64_t count_padded_rows(const StepTrace& trace, const EngineConfig&) {
  if (trace.rows.empty() || !trace.graph.pads_metadata()) return 0;
  return trace.graph.num_reqs_padded - static_cast<std::int64_t>(trace.rows.size());
}

// A running request that was skipped is counted when it is scheduled again.
std::int64_t count_skipped(const StepTrace& trace, const EngineConfig&) {
  return std::ranges::count_if(trace.rows, [&](const RowTrace& row) {
    return row.origin == RowOrigin::returned &&
           trace.scheduled_of(row).admission == Admission::running;
  });
}

std::int64_t count_rolled_back(const StepTrace& trace, const EngineConfig&) {
  return std::ranges::count_if(trace.committed, [](const CommitTrace& one) {
    return one.outcome == CommitOutcome::preempted || one.outcome == CommitOutcome::stale_run;
  });
}

std::int64_t count_resets(const StepTrace& trace, const EngineConfig&) {
  return std::ranges::count_if(trace.commands, [](const CommandTrace& one) {
    return one.command == CommandKind::reset_prefix_cache && one.outcome == CommandOutcome::done;
  });
}

// A running request's copy is one of its prompt's tail.
std::int64_t count_copies_of_hits(const StepTrace& trace, const EngineConfig&) {
  return std::ranges::count_if(trace.cache_events, [&](const CacheEvent& event) {
    return event.kind == CacheEventKind::copied_to &&
           std::ranges::any_of(trace.scheduled, [&](const ScheduledTrace& one) {
             return one.request == event.request && one.admission != Admission::running;
           });
  });
}

constexpr std::array<MatrixEventInfo, kNumMatrixEvents> kEvents = {{
    {MatrixEvent::pre_copy, "pre_copies", "states copied before the forward",
     [](const MatrixCell& cell, const PolicySet&) { return is_align(cell); },
     [](const StepTrace& trace, const EngineConfig&) { return copies(trace.pre_copies); }},
    {MatrixEvent::post_copy, "post_copies", "states copied after acceptance",
     [](const MatrixCell& cell, const PolicySet& policies) {
       const bool boundaries_stored =
           policies.is(AllModeSpeculation::remembered_column_and_boundary_copies);
       return has_drafts(cell) &&
              (is_align(cell) ||
               (boundaries_stored && cell.mamba_cache_mode() == MambaCacheMode::all));
     },
     [](const StepTrace& trace, const EngineConfig&) { return copies(trace.post_copies); }},
    {MatrixEvent::same_block_shift, "same_block_shifts", "conv windows shifted inside their block",
     [](const MatrixCell& cell, const PolicySet&) { return has_drafts(cell) && is_align(cell); },
     [](const StepTrace& trace, const EngineConfig&) {
       return count_both(trace, [](const StateCopyDecision& one) {
         return one.outcome == StateCopyOutcome::within_block_shift;
       });
     }},
    {MatrixEvent::bias, "bias_above_0", "copies that begin behind an accepted draft",
     [](const MatrixCell& cell, const PolicySet&) { return has_drafts(cell) && is_align(cell); },
     [](const StepTrace& trace, const EngineConfig&) {
       return count_both(trace, [](const StateCopyDecision& one) {
         return one.copies() && one.accept_token_bias > 0;
       });
     }},
    {MatrixEvent::hit, "hits", "admissions that the prefix cache served",
     [](const MatrixCell& cell, const PolicySet&) { return cell.enable_prefix_caching(); },
     [](const StepTrace& trace, const EngineConfig&) -> std::int64_t {
       return std::ranges::count_if(trace.scheduled, [](const ScheduledTrace& one) {
         return one.admission != Admission::running && one.num_hit_tokens > 0;
       });
     }},
    {MatrixEvent::no_draft_step, "no_draft_steps", "steps past a prompt in which no row has drafts",
     [](const MatrixCell& cell, const PolicySet&) { return has_drafts(cell); },
     count_no_draft_step},
    {MatrixEvent::padded_row, "padded_rows", "rows added to fill a captured graph",
     [](const MatrixCell& cell, const PolicySet&) {
       return has_full_cudagraphs(cell.cudagraph_mode());
     },
     count_padded_rows},
    {MatrixEvent::row_move, "row_moves", "rows that moved in the batch",
     [](const MatrixCell&, const PolicySet&) { return true; },
     [](const StepTrace& trace, const EngineConfig&) -> std::int64_t {
       return std::ranges::count(trace.rows, RowOrigin::moved, &RowTrace::origin);
     }},
    {MatrixEvent::preemption, "preemptions", "requests that lost their blocks",
     [](const MatrixCell& cell, const PolicySet&) {
       return cell.pressure() == Pressure::preemption;
     },
     [](const StepTrace& trace, const EngineConfig&) {
       return static_cast<std::int64_t>(trace.preempted.size());
     }},
    {MatrixEvent::skipped_step, "skipped_steps", "running requests that a step had left out",
     [](const MatrixCell& cell, const PolicySet&) { return cell.pressure() == Pressure::budget; },
     count_skipped},
    {MatrixEvent::frame_rolled_back, "frames_rolled_back",
     "rows of frames in flight whose request was preempted or reset",
     [](const MatrixCell& cell, const PolicySet&) {
       return cell.async_scheduling() &&
              (cell.pressure() == Pressure::preemption || cell.pressure() == Pressure::reset);
     },
     count_rolled_back},
    {MatrixEvent::cache_reset, "cache_resets", "resets of the prefix cache",
     [](const MatrixCell& cell, const PolicySet&) { return cell.pressure() == Pressure::reset; },
     count_resets},
    {MatrixEvent::checkpoint, "checkpoints", "states stored inside a prefill",
     [](const MatrixCell& cell, const PolicySet&) {
       return cell.checkpoints() == Checkpoints::in_prefills;
     },
     [](const StepTrace& trace, const EngineConfig&) -> std::int64_t {
       return std::ranges::count_if(
           trace.scheduled, [](const ScheduledTrace& one) { return one.checkpoint_position > 0; });
     }},
    {MatrixEvent::block_copy, "block_copies", "whole blocks copied for a hit that ends inside them",
     [](const MatrixCell& cell, const PolicySet& policies) {
       return cell.match_unit() == MatchUnit::finer && !policies.is(HitsInsideBlocks::never) &&
              !policies.is(PromptTailKey::never);
     },
     count_copies_of_hits},
}};

}  // namespace

std::span<const MatrixEventInfo> matrix_event_table() { return kEvents; }

void EventCounter::add(const StepTrace& trace, const EngineConfig& config) {
  for (std::size_t i = 0; i < kNumMatrixEvents; ++i) times_[i] += kEvents[i].count(trace, config);
}

void EventCounter::add_to(EventCounts& counts) const {
  for (std::size_t i = 0; i < kNumMatrixEvents; ++i) {
    counts[i].times += times_[i];
    counts[i].scenarios += times_[i] > 0 ? 1 : 0;
  }
}

namespace {

Result<std::unique_ptr<StateBackend>> make_memory(const RunPlan& plan,
                                                  const MakeStateBackend& make_backend) {
  const StateMemoryLimit no_limit{.bytes = std::int64_t{1} << 62};
  auto memory = plan_state_memory(plan.setup, plan.settings, no_limit);
  if (!memory.ok()) return memory.error();
  return make_backend(std::move(memory).value());
}

}  // namespace

Result<CheckedScenario> check_scenario(const Scenario& scenario,
                                       const CheckScenarioOptions& options) {
  auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return plan.error();
  CheckedRunOptions run_options{.max_steps = kMaxMatrixSteps};
  if (options.make_backend) {
    auto made = make_memory(plan.value(), options.make_backend);
    if (!made.ok()) return made.error();
    run_options.state = std::move(made).value();
  }
  auto created = CheckedRun::create(std::move(plan).value(), std::move(run_options));
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();

  CheckedScenario checked;
  const auto all_seen = [&] {
    return !options.until.empty() && std::ranges::includes(checked.errors, options.until);
  };
  const auto add = [&](const CheckedStep& step) {
    checked.num_request_steps += static_cast<std::int64_t>(step.trace.rows.size());
    checked.events.add(step.trace, run.engine().config());
    for (const Finding& finding : step.findings)
      if (rule_info(finding.rule).severity == Severity::error)
        checked.errors.insert({finding.rule, std::string(finding.detail)});
  };
  if (const auto driven = drive(run, add, all_seen); !driven.ok()) return driven.error();
  checked.num_steps = run.num_steps();
  if (run.end() == EndReason::step_limit)
    checked.errors.insert({Rule::no_progress, "the run does not end"});
  return checked;
}

}  // namespace hybridscope
