// The plan of a run: an engine's set-up, requests with their arrivals, and a script. Made from a
// scenario file, a traffic file or the traffic generator. Also the memory that its state takes when
// it is kept in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/settings.h"
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

// A copy with other settings and all that follows from them. Errors: the settings are not possible,
// the release of the plan starts and does not with them, a request does not fit.
Result<RunPlan> with_settings(const RunPlan& plan,
                              const std::function<void(EngineSettings&)>& change);

// What to do with a request that check_request_fits refuses.
enum class UnfitRequest : std::uint8_t {
  left_out,  // as a server refuses it and goes on; a note counts and names those left out
  is_error,
};

struct TrafficPlanInput {
  std::string name;
  std::string model;
  EngineSettings settings;
  std::int64_t limit = 0;  // take only this many requests from the front; 0: all
  UnfitRequest unfit = UnfitRequest::left_out;
};

// The engine that the traffic runs in. Where max_model_len is not set, `settings` gets what the
// longest request needs, if that is more than the model's.
Result<EngineSetup> setup_for_traffic(const std::vector<ArrivingRequest>& requests,
                                      const std::string& model, EngineSettings& settings);

// The requests that check_request_fits refuses, as indices in ascending order.
std::vector<std::size_t> unfit_requests(const EngineSetup& setup,
                                        const std::vector<ArrivingRequest>& requests);

// Takes requests out, by ascending indices; the others wait for them no more. Returns a sentence
// that counts and names them, with the reason of the first: that of `setup`.
std::string leave_out(const std::vector<std::size_t>& unfit, const EngineSetup& setup,
                      std::vector<ArrivingRequest>& requests);

// Unless it was set, max_model_len is raised to what the longest request needs; the plan's notes
// say so. Error: settings, model, no request that is left.
Result<RunPlan> plan_traffic(Traffic traffic, TrafficPlanInput input);

// The memory layout of a run's state when it is kept in bytes, and whether it fits.

// The limit for the state. `reason` completes the sentence "more than the 2.0 GiB ...".
struct StateMemoryLimit {
  std::int64_t bytes = 0;
  std::string reason = {};
};

// Plans memory for the model's recurrent layers: settings.state_layers of each group, or all.
// Errors: what make_state_memory refuses; conv windows without room for drafts; not_available when
// it does not fit, with the numbers and the largest number of layers that fits.
Result<StateMemory> plan_state_memory(const EngineSetup& setup, const EngineSettings& settings,
                                      const StateMemoryLimit& limit);

// The largest sizes of any step. Rows: max_num_seqs, or the rows of the largest captured graph.
StepLimits step_limits(const EngineSetup& setup);

// The number of layers of the largest recurrent group.
std::int32_t num_state_layers(const KVCacheConfig& config);

// "230 MiB", "3.4 GiB": rounded, for display.
std::string rounded_byte_size(std::int64_t bytes);

}  // namespace hybridscope
