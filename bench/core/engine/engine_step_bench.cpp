// One whole step (schedule, prepare, sample, commit) of 256 running decodes, without a checker.
#include "bench/core/engine/decoding_engine.h"
#include "bench/support/measure.h"
#include "bench/support/model_config.h"

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

}  // namespace
}  // namespace hybridscope::bench
