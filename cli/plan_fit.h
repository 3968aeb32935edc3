// hybridscope plan fit: a step time from recorded traces.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/cli_fwd.h"
#include "sessions/plan/recorded_steps.h"
#include "sessions/plan/step_time_fit.h"

namespace hybridscope {

// What hybridscope plan fit prints and writes.

// All references must outlive the view.
struct PlanFitView {
  const StepTimeFit& fit;
  const RecordedSteps& recorded;
  const TimedSteps& timed;
  std::string traces;        // "run.jsonl", "3 traces"
  bool knows_states = true;  // were copied bytes counted?
};

// For people.
std::string plan_fit_text(const PlanFitView& view);

// {step_time, terms, num_steps, ...}.
nlohmann::ordered_json plan_fit_json(const PlanFitView& view);

// A file that --step-time takes: what was fitted as lines with #, then the sum.
std::string plan_fit_file(const PlanFitView& view);

// Adds the subcommand; the result runs it.
std::function<int()> add_plan_fit(CLI::App& plan);

}  // namespace hybridscope
