// What one run is made of: an engine's set-up, requests with their arrivals, a script. Built from a
// scenario file, a traffic file or the generator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/traffic.h"

namespace hybridscope {

struct RunPlan {
  std::string name;                       // of the scenario or the traffic
  std::string teaches;                    // scenarios
  EngineSettings settings;                // as given, but for what a note says was changed
  EngineSetup setup;                      // follows from the settings and setup.layout.model
  std::vector<ArrivingRequest> requests;  // in the order in which they join
  std::vector<ScriptStep> script;         // ascending steps
  Expectation expect;
  std::vector<std::string> notes;  // what was decided for the user, one sentence each
};

// Error: what the scenario's settings, model or requests do not allow, with `file` and a JSON
// pointer.
Result<RunPlan> plan_scenario(const Scenario& scenario, const std::string& file);

struct TrafficPlanInput {
  std::string name;
  std::string model;
  EngineSettings settings;
  std::int64_t limit = 0;  // requests taken from the front, 0: all
};

// max_model_len is raised to what the longest request needs unless it was set; the plan's notes say
// so. Error: settings, model, or a request the pool cannot hold.
Result<RunPlan> plan_traffic(Traffic traffic, TrafficPlanInput input);

}  // namespace hybridscope
