#include "sessions/run/run_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/policy_table.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

Error in_file(const std::string& file, const Error& error) {
  return {error.kind, fmt::format("{}: {}", file, error.message)};
}

// Notes where the engine departs from the settings.
void note_start_up(RunPlan& plan) {
  if (plan.settings.mamba_block_size && plan.setup.config.mamba_cache_mode != MambaCacheMode::all)
    plan.notes.push_back("mamba_block_size has a meaning in mode all only");
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

Result<RunPlan> with_settings(const RunPlan& plan,
                              const std::function<void(EngineSettings&)>& change) {
  RunPlan changed = plan;
  change(changed.settings);
  auto setup = make_engine_setup(plan.setup.layout.model, changed.settings);
  if (!setup.ok()) return setup.error();
  changed.setup = std::move(setup).value();
  if (check_release_starts(plan.setup).ok())
    if (Status starts = check_release_starts(changed.setup); !starts.ok()) return starts.error();
  for (const ArrivingRequest& arriving : changed.requests)
    if (Status fits = check_request_fits(changed.setup, arriving.request); !fits.ok())
      return fits.error();
  return changed;
}

Result<EngineSetup> setup_for_traffic(const std::vector<ArrivingRequest>& requests,
                                      const std::string& model, EngineSettings& settings) {
  auto setup = make_engine_setup(model, settings);
  if (!setup.ok() || settings.max_model_len) return setup;
  const Setting& max_model_len = *find_setting("", "max_model_len");
  std::int64_t longest = 0;
  for (const ArrivingRequest& arriving : requests)
    longest = std::max(longest, num_prompt_tokens(arriving.request) + arriving.request.max_tokens);
  const std::int64_t needed =
      std::min(longest + 1 + setup.value().config.num_speculative_tokens, max_model_len.max);
  if (needed <= setup.value().config.max_model_len) return setup;
  if (Status set = set_setting(settings, max_model_len, needed); !set.ok()) return set.error();
  return make_engine_setup(model, settings);
}

std::vector<std::size_t> unfit_requests(const EngineSetup& setup,
                                        const std::vector<ArrivingRequest>& requests) {
  std::vector<std::size_t> unfit;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (!check_request_fits(setup, requests[i].request).ok()) unfit.push_back(i);
  return unfit;
}

std::string leave_out(const std::vector<std::size_t>& unfit, const EngineSetup& setup,
                      std::vector<ArrivingRequest>& requests) {
  constexpr std::size_t kMostNamed = 10;
  std::set<std::string, std::less<>> names;
  std::string named;
  for (std::size_t i = 0; i < unfit.size(); ++i) {
    const std::string& name = requests[unfit[i]].request.name;
    names.insert(name);
    if (i > 0 && i < kMostNamed) named += fmt::format("{}{}", i == 1 ? "; also " : ", ", name);
  }
  if (unfit.size() > kMostNamed) named += fmt::format(" and {} more", unfit.size() - kMostNamed);
  const Status first = check_request_fits(setup, requests[unfit.front()].request);
  std::string words = fmt::format("left out {} of {} requests, which the engine never serves: {}{}",
                                  unfit.size(), requests.size(), first.error().message, named);
  std::erase_if(requests,
                [&](const ArrivingRequest& one) { return names.contains(one.request.name); });
  for (ArrivingRequest& arriving : requests)
    std::erase_if(arriving.after, [&](const std::string& name) { return names.contains(name); });
  return words;
}

Result<RunPlan> plan_traffic(Traffic traffic, TrafficPlanInput input) {
  if (input.limit > 0 && static_cast<std::size_t>(input.limit) < traffic.requests.size())
    traffic.requests.resize(static_cast<std::size_t>(input.limit));
  RunPlan plan{.name = input.name,
               .teaches = {},
               .settings = input.settings,
               .setup = {},
               .requests = std::move(traffic.requests),
               .script = {},
               .expect = {},
               .notes = {}};
  auto setup = setup_for_traffic(plan.requests, input.model, plan.settings);
  if (!setup.ok()) return setup.error();
  const std::vector<std::size_t> unfit = unfit_requests(setup.value(), plan.requests);
  std::string left_out;
  if (!unfit.empty()) {
    if (input.unfit == UnfitRequest::is_error || unfit.size() == plan.requests.size())
      return check_request_fits(setup.value(), plan.requests[unfit.front()].request).error();
    left_out = leave_out(unfit, setup.value(), plan.requests);
    plan.settings = input.settings;
    setup = setup_for_traffic(plan.requests, input.model, plan.settings);
    if (!setup.ok()) return setup.error();
  }
  plan.setup = std::move(setup).value();
  if (plan.settings.max_model_len != input.settings.max_model_len)
    plan.notes.push_back(fmt::format("max_model_len raised from {} to {} for the longest request",
                                     plan.setup.layout.model.max_model_len,
                                     plan.setup.config.max_model_len));
  if (!left_out.empty()) plan.notes.push_back(std::move(left_out));
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

namespace {

// The options that would make it fit. The smallest number of blocks that the run needs is not known
// here.
std::string suggestion(const StateMemory& memory, std::int64_t limit) {
  const std::int64_t layers = limit / memory.buffer_bytes();
  if (layers >= 1)
    return fmt::format("--layers {} needs {}", layers,
                       rounded_byte_size(layers * memory.buffer_bytes()));
  return fmt::format(
      "--layers 1 needs {}; expected more memory (--state-memory) or fewer blocks "
      "(--num-gpu-blocks-override)",
      rounded_byte_size(memory.buffer_bytes()));
}

// Known bug 25: the reference's shapes of some models leave no room for drafts.
Status check_conv_windows(const StateMemory& memory, const EngineConfig& config) {
  const std::int32_t needed = config.conv_kernel - 1 + config.num_speculative_tokens;
  for (const std::int32_t positions : memory.layout.state_conv_widths)
    if (positions > 0 && positions < needed)
      return invalid_input(
          fmt::format("conv windows have {} positions, the kernels use {} with {} drafts and would "
                      "write into what lies behind (expected profile safe, which makes room, or "
                      "symbolic state)",
                      positions, needed, config.num_speculative_tokens));
  return Ok{};
}

// Names every policy that is in the way.
Status check_kernels(const PolicySet& policies) {
  std::string in_the_way;
  std::string expected;
  for (const Policy& policy : policy_table()) {
    const std::uint8_t value = policy.value_in(policies);
    if (!policy.text.symbolic_state_only || value == policy.safe) continue;
    const std::string_view between = in_the_way.empty() ? "" : ", ";
    in_the_way += fmt::format("{}{} = {}", between, policy.text.name, policy.text.values[value]);
    expected += fmt::format("{}{}", between, policy.text.values[policy.safe]);
  }
  if (in_the_way.empty()) return Ok{};
  return invalid_input(fmt::format(
      "the kernels that keep state in bytes do not have the policy {} (expected {}): run without "
      "--state bytes, which checks the same decisions on symbolic state, or with --state numeric",
      in_the_way, expected));
}

}  // namespace

std::string rounded_byte_size(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  for (; size >= 1024.0 && unit + 1 < std::size(kUnits); ++unit) size /= 1024.0;
  return fmt::format("{:.{}f} {}", size, size < 10.0 ? 1 : 0, kUnits[unit]);
}

StepLimits step_limits(const EngineSetup& setup) {
  std::int32_t most_rows = setup.config.max_num_seqs;
  for (const std::int32_t size : setup.cudagraphs.capture_sizes)
    most_rows = std::max(most_rows, size);
  return {.max_num_batched_tokens = setup.config.max_num_batched_tokens, .max_num_rows = most_rows};
}

std::int32_t num_state_layers(const KVCacheConfig& config) {
  std::size_t most = 0;
  for (const KVCacheGroup& group : config.groups)
    if (group.is_mamba()) most = std::max(most, group.layers.size());
  return static_cast<std::int32_t>(most);
}

Result<StateMemory> plan_state_memory(const EngineSetup& setup, const EngineSettings& settings,
                                      const StateMemoryLimit& limit) {
  const KVCacheConfig& config = setup.config.kv_cache_config;
  auto memory =
      make_state_memory(config, {.conv_state_layout = setup.layout.settings.conv_state_layout,
                                 .conv_kernel = setup.config.conv_kernel,
                                 .max_layers = settings.state_layers.value_or(0)});
  if (!memory.ok()) return memory;
  const StateMemory& planned = memory.value();
  if (Status kernels = check_kernels(setup.config.policies); !kernels.ok()) return kernels.error();
  if (Status room = check_conv_windows(planned, setup.config); !room.ok()) return room.error();
  if (planned.total_bytes() <= limit.bytes) return memory;
  return Error{
      ErrorKind::not_available,
      fmt::format("state in bytes needs {} ({} of {} layers per group, {} blocks of {}), "
                  "more than the {} {}: {}",
                  rounded_byte_size(planned.total_bytes()), planned.num_buffers,
                  num_state_layers(config), planned.num_blocks,
                  rounded_byte_size(planned.page_size_bytes), rounded_byte_size(limit.bytes),
                  limit.reason, suggestion(planned, limit.bytes))};
}

}  // namespace hybridscope
