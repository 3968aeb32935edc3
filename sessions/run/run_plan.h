// The plan of a run: an engine's set-up, requests with their arrivals, and a script. Made from a
// scenario file, a traffic file or the traffic generator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

class StepClock;

struct RunPlan {
  std::string name;                       // of the scenario or traffic
  std::string teaches;                    // scenarios only
  EngineSettings settings;                // as given, except for changes that a note reports
  EngineSetup setup;                      // derived from the settings and setup.layout.model
  std::vector<ArrivingRequest> requests;  // in the order in which they join
  std::vector<ScriptStep> script;         // ascending by step
  Expectation expect;
  // How long steps take (Engine::set_step_clock); null: the costs of the settings.
  std::shared_ptr<const StepClock> step_clock = nullptr;
  std::vector<std::string> notes;  // what was decided for the user, one sentence each
};

// Error: the scenario's settings, model or requests are not possible; with `file` and a JSON
// pointer.
Result<RunPlan> plan_scenario(const Scenario& scenario, const std::string& file);

struct TrafficPlanInput {
  std::string name;
  std::string model;
  EngineSettings settings;
  std::int64_t limit = 0;  // take only this many requests from the front; 0: all
};

// Unless it was set, max_model_len is raised to what the longest request needs; the plan's notes
// say so. Error: settings, model, or a request the pool cannot hold.
Result<RunPlan> plan_traffic(Traffic traffic, TrafficPlanInput input);

}  // namespace hybridscope
