#include "sessions/run/run_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/engine/engine.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/scripted_policies.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

Error in_file(const std::string& file, const Error& error) {
  return {error.kind, fmt::format("{}: {}", file, error.message)};
}

// Notes where the engine departs from the settings.
void note_start_up(RunPlan& plan) {
  const auto& asked = plan.settings.mamba_cache_mode;
  if (asked && *asked != MambaCacheMode::none &&
      plan.setup.config.mamba_cache_mode == MambaCacheMode::none)
    plan.notes.push_back(fmt::format("prefix caching is off: mode none instead of {}",
                                     mamba_cache_mode_name(*asked)));
  if (plan.settings.mamba_block_size && plan.setup.config.mamba_cache_mode != MambaCacheMode::all)
    plan.notes.push_back("mamba_block_size has a meaning in mode all only");
  if (plan.setup.layout.mode_reason == ModeReason::all_unsupported)
    plan.notes.push_back(
        fmt::format("{} has no mode all: it runs in align", plan.setup.layout.model.name));
  if (std::string note = dated_profile_note(plan.settings.engine.value_or(EngineProfile::safe));
      !note.empty())
    plan.notes.push_back(std::move(note));
  for (std::string& note : start_up_notes(plan.setup)) plan.notes.push_back(std::move(note));
  for (std::string& note : scripted_policy_notes(plan.settings, plan.script))
    plan.notes.push_back(std::move(note));
}

}  // namespace

Result<RunPlan> plan_scenario(const Scenario& scenario, const std::string& file) {
  const auto model = resolve_model(scenario.model);
  if (!model.ok()) return in_file(file + ": /model", model.error());
  auto setup = make_engine_setup(model.value(), scenario.settings);
  if (!setup.ok()) return in_file(file + ": /settings", setup.error());
  auto requests = resolve_requests(scenario);
  if (!requests.ok()) return in_file(file, requests.error());
  if (Status fits = check_requests_fit(scenario, requests.value(), setup.value()); !fits.ok())
    return in_file(file, fits.error());
  RunPlan plan{.name = scenario.name,
               .teaches = scenario.teaches,
               .settings = scenario.settings,
               .setup = std::move(setup).value(),
               .requests = std::move(requests).value(),
               .script = scenario.script,
               .expect = scenario.expect,
               .notes = {}};
  note_start_up(plan);
  return plan;
}

Result<RunPlan> plan_traffic(Traffic traffic, TrafficPlanInput input) {
  if (input.limit > 0 && static_cast<std::size_t>(input.limit) < traffic.requests.size())
    traffic.requests.resize(static_cast<std::size_t>(input.limit));
  std::int64_t longest = 0;
  for (const ArrivingRequest& arriving : traffic.requests)
    longest = std::max(longest, num_prompt_tokens(arriving.request) + arriving.request.max_tokens);
  RunPlan plan{.name = input.name,
               .teaches = {},
               .settings = {},
               .setup = {},
               .requests = std::move(traffic.requests),
               .script = {},
               .expect = {},
               .notes = {}};
  auto setup = make_engine_setup(input.model, input.settings);
  if (!setup.ok()) return setup.error();
  const std::int64_t needed = longest + 1 + setup.value().config.num_speculative_tokens;
  if (!input.settings.max_model_len && needed > setup.value().config.max_model_len) {
    plan.notes.push_back(fmt::format("max_model_len raised from {} to {} for the longest request",
                                     setup.value().config.max_model_len, needed));
    if (Status set = set_setting(input.settings, *find_setting("", "max_model_len"), needed);
        !set.ok())
      return set.error();
    setup = make_engine_setup(input.model, input.settings);
    if (!setup.ok()) return setup.error();
  }
  plan.settings = input.settings;
  plan.setup = std::move(setup).value();
  for (const ArrivingRequest& arriving : plan.requests)
    if (Status fits = check_request_fits(plan.setup.config, arriving.request); !fits.ok())
      return fits.error();
  if (traffic.num_out_of_order > 0)
    plan.notes.push_back(fmt::format("{} requests were out of order and were sorted by time",
                                     traffic.num_out_of_order));
  if (traffic.num_without_output > 0)
    plan.notes.push_back(
        fmt::format("{} requests without output get one token", traffic.num_without_output));
  for (std::string& note : traffic.notes) plan.notes.push_back(std::move(note));
  note_start_up(plan);
  return plan;
}

}  // namespace hybridscope
