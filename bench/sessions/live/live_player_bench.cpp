// What a snapshot of a live run costs: a checked run copied while many requests run.
#include "bench/support/measure.h"
#include "sessions/run/checked_run.h"
#include "sessions/traffic/synthetic_traffic.h"

namespace hybridscope::bench {
namespace {

void clone_runner_and_checker(benchmark::State& state) {
  Traffic traffic = make_synthetic_traffic({.num_conversations = 2000}).value();
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  CheckedRun run =
      CheckedRun::create(
          plan_traffic(std::move(traffic),
                       {.name = "synthetic", .model = "qwen3-next-80b-a3b", .settings = settings})
              .value())
          .value();
  for (int i = 0; i < 1000; ++i) (void)run.step().value();
  measure(state, run.engine().num_unfinished(), [&] { return run.clone(); });
  state.counters["blocks"] = run.engine().config().kv_cache_config.num_blocks;
}
BENCHMARK(clone_runner_and_checker);

}  // namespace
}  // namespace hybridscope::bench
