// What a snapshot of a live run costs: runner and checker copied while many requests run.
#include "bench/support/measure.h"
#include "core/check/step_checker.h"
#include "sessions/run/check_setup.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/synthetic_traffic.h"

namespace hybridscope::bench {
namespace {

void clone_runner_and_checker(benchmark::State& state) {
  Traffic traffic = make_synthetic_traffic({.num_conversations = 2000}).value();
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  Runner runner = Runner::create(plan_traffic(std::move(traffic), {.name = "synthetic",
                                                                   .model = "qwen3-next-80b-a3b",
                                                                   .settings = settings})
                                     .value())
                      .value();
  StepChecker checker = StepChecker::create(make_check_config(runner.engine().config())).value();
  for (int i = 0; i < 1000; ++i) checker.check(*runner.step().value());
  measure(state, runner.engine().num_unfinished(), [&] {
    benchmark::DoNotOptimize(StepChecker(checker));
    return runner.clone();
  });
  state.counters["blocks"] = runner.engine().config().kv_cache_config.num_blocks;
}
BENCHMARK(clone_runner_and_checker);

}  // namespace
}  // namespace hybridscope::bench
