#include "tests/storage/drawn_run.h"

#include "sessions/traffic/synthetic_traffic.h"
#include "tests/support/property.h"

namespace hybridscope::test {
namespace {

EngineSettings drawn_settings() {
  EngineSettings settings;
  settings.mamba_cache_mode = one_in(4) ? MambaCacheMode::none : MambaCacheMode::align;
  settings.num_speculative_tokens = draw(0, 3);
  settings.acceptance_rate = 0.6;
  settings.max_num_seqs = draw(2, 8);
  settings.max_num_batched_tokens = draw(32, 128);
  settings.async_scheduling = one_in(2);
  if (one_in(3)) settings.runner = ModelRunner::v2;
  if (one_in(4)) settings.engine = EngineProfile::reference;
  settings.num_gpu_blocks_override = draw(24, 96);
  settings.seed = draw(0, 1000);
  return settings;
}

std::vector<ScriptStep> drawn_script() {
  std::vector<ScriptStep> script;
  for (std::int32_t step = 3; step < 24; step += draw(1, 8)) {
    ScriptStep at{.step = step};
    if (one_in(3)) at.preempt = {"c1.t1"};
    if (one_in(6)) at.abort = {"c1.t1"};
    if (one_in(4)) at.reset_prefix_cache = PrefixCacheReset::preempting_running;
    if (one_in(3)) at.budget = draw(8, 32);
    script.push_back(at);
  }
  return script;
}

}  // namespace

RunPlan drawn_run() {
  const Traffic traffic = make_synthetic_traffic({.seed = static_cast<std::uint64_t>(draw(0, 1000)),
                                                  .num_conversations = draw(2, 6),
                                                  .num_system_prompts = 2,
                                                  .turns = {1, 2},
                                                  .system_tokens = {8, 48},
                                                  .user_tokens = {1, 32},
                                                  .output_tokens = {1, 16},
                                                  .mean_gap_us = 60'000,
                                                  .mean_think_us = 100'000})
                              .value();
  TrafficPlanInput input{.name = "drawn", .model = "tiny-gdn", .settings = drawn_settings()};
  auto plan = plan_traffic(traffic, input);
  if (!plan.ok()) {  // a request that the drawn pool cannot hold, settings that exclude each other
    input.settings = {};
    input.settings.num_gpu_blocks_override = 256;
    plan = plan_traffic(traffic, input);
  }
  plan.value().script = drawn_script();
  return std::move(plan).value();
}

}  // namespace hybridscope::test
