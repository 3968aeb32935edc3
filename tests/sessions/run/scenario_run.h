// Runs a scenario's engine under the checker and collects what its traces say, for tests.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sessions/explain/explain_names.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope::test {

struct ScenarioRun {
  std::vector<std::string> findings;  // slug, step, request; warnings too
  std::int64_t num_steps = 0;         // steps that scheduled tokens
  std::int64_t num_idle_steps = 0;    // that scheduled nothing and in which no frame returned
  std::int32_t num_finished = 0;
  std::int32_t num_preempted = 0;
  std::int32_t num_evicted = 0;  // blocks that lost their hash
  std::int32_t num_ignored_commands = 0;
  std::int32_t num_within_block_shifts = 0;
  std::int32_t num_boundary_copies = 0;            // post-copies of either kind
  std::int32_t num_padding_rows = 0;               // over all steps
  std::map<std::string, std::int32_t> hit_tokens;  // at a request's last admission
  std::vector<std::string> steps;                  // "A:decode q=1 d=0 a=1 | ..." of each step
};

ScenarioRun run_scenario(const Scenario& scenario);

inline constexpr std::int64_t kMaxSteps = 1000;

inline std::string describe_rows(const StepTrace& trace, const Engine& engine) {
  std::string text;
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    text += fmt::format("{}{} {} {}+{} d{} a{}", text.empty() ? "" : " | ",
                        engine.name_of(row.request), row_class_name(row.row_class),
                        row.num_computed_tokens, scheduled.num_scheduled_tokens,
                        scheduled.num_draft_tokens, row.num_sampled_tokens);
  }
  return text;
}

inline void collect(const StepTrace& trace, const Engine& engine, ScenarioRun& run) {
  if (trace.num_scheduled_tokens > 0)
    ++run.num_steps;
  else if (trace.committed.empty())
    ++run.num_idle_steps;
  run.num_preempted += static_cast<std::int32_t>(trace.preempted.size());
  for (const CommitTrace& commit : trace.committed) run.num_finished += commit.finished ? 1 : 0;
  for (const CacheEvent& event : trace.cache_events)
    run.num_evicted += event.kind == CacheEventKind::evicted ? 1 : 0;
  for (const CommandTrace& command : trace.commands)
    run.num_ignored_commands += command.outcome == CommandOutcome::ignored ? 1 : 0;
  for (const CopyDecisionTrace& decision : trace.post_copies.decisions) {
    run.num_boundary_copies += decision.decision.copies() ? 1 : 0;
    run.num_within_block_shifts +=
        decision.decision.outcome == StateCopyOutcome::within_block_shift ? 1 : 0;
  }
  if (trace.graph.pads_metadata())
    run.num_padding_rows +=
        trace.graph.num_reqs_padded - static_cast<std::int32_t>(trace.rows.size());
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission != Admission::running)
      run.hit_tokens[engine.name_of(scheduled.request)] = scheduled.num_hit_tokens;
  run.steps.push_back(describe_rows(trace, engine));
}

inline ScenarioRun run_scenario(const Scenario& scenario) {
  CheckedRun checked = CheckedRun::create(plan_scenario(scenario, scenario.name).value(),
                                          {.check = CheckScope::all, .max_steps = kMaxSteps})
                           .value();
  ScenarioRun run;
  while (!checked.has_ended()) {
    const CheckedStep step = checked.step().value();
    collect(step.trace, checked.engine(), run);
    for (const Finding& finding : step.findings)
      run.findings.push_back(fmt::format(
          "{} step {} request {}: expected {}, seen {} {}", rule_info(finding.rule).slug,
          finding.step, finding.request.value, finding.expected, finding.seen, finding.detail));
  }
  return run;
}

}  // namespace hybridscope::test
