// One whole step of 256 running decodes, without a checker and with all step checks.

#include <optional>

#include "bench/support/bench_engines.h"
#include "bench/support/measure.h"
#include "core/check/step_checker.h"
#include "sessions/run/step_judge.h"

namespace hybridscope::bench {

namespace {

class EngineSteps {
 public:
  explicit EngineSteps(const EngineConfig& config) : engine_(config) {}
  void step() { benchmark::DoNotOptimize(engine_.step().rows.data()); }
  bool worn_out() const { return engine_.worn_out(); }
  void renew() {
    engine_.renew([](const StepTrace&) {});
  }

 private:
  DecodingEngine engine_;
};

void engine_step(benchmark::State& state, const char* preset, std::int32_t num_spec) {
  EngineSteps world(model_config(preset, num_spec));
  measure_steps(state, kDecodingRequests, world);
}
BENCHMARK_CAPTURE(engine_step, qwen3_next_K2_256_decodes, "qwen3-next-80b-a3b", 2);
BENCHMARK_CAPTURE(engine_step, nemotron_h_K2_256_decodes, "nemotron-h-8b", 2);
BENCHMARK_CAPTURE(engine_step, nemotron_h_K0_256_decodes, "nemotron-h-8b", 0);

class CheckedSteps {
 public:
  explicit CheckedSteps(const EngineConfig& config) : config_(config), engine_(config) {}
  void step() { check(engine_.step()); }
  bool worn_out() const { return engine_.worn_out(); }
  void renew() {
    checker_.emplace(StepChecker::create(make_check_config(config_)).value());
    engine_.renew([this](const StepTrace& trace) { check(trace); });
  }

 private:
  void check(const StepTrace& trace) { HS_EXPECT(checker_->check(trace).empty()); }

  EngineConfig config_;
  DecodingEngine engine_;
  std::optional<StepChecker> checker_;
};

void checked_step(benchmark::State& state, const char* preset, std::int32_t num_spec) {
  CheckedSteps world(model_config(preset, num_spec));
  measure_steps(state, kDecodingRequests, world);
}
BENCHMARK_CAPTURE(checked_step, qwen3_next_K2_256_decodes, "qwen3-next-80b-a3b", 2);
BENCHMARK_CAPTURE(checked_step, nemotron_h_K2_256_decodes, "nemotron-h-8b", 2);
BENCHMARK_CAPTURE(checked_step, nemotron_h_K0_256_decodes, "nemotron-h-8b", 0);

}  // namespace

}  // namespace hybridscope::bench
