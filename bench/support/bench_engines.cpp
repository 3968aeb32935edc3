#include <algorithm>
#include <string>

#include "bench/support/bench_engines.h"
#include "sessions/scenario/engine_setup.h"

namespace hybridscope::bench {

EngineConfig model_config(const char* preset, std::int32_t num_speculative_tokens) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.num_gpu_blocks_override = 32768;
  settings.num_speculative_tokens = num_speculative_tokens;
  return make_engine_setup(preset, settings).value().config;
}

namespace {

constexpr std::int32_t kSteps = 2000;

bool all_decode(const StepTrace& trace) {
  return trace.rows.size() == kDecodingRequests &&
         std::ranges::none_of(
             trace.rows, [](const RowTrace& row) { return row.row_class == RowClass::prefill; });
}

}  // namespace

// Prompts of 700 to 955 tokens, no two alike: requests pass block boundaries in different steps.
void DecodingEngine::start() {
  engine_.emplace(Engine::create(config_).value());
  for (std::int32_t i = 0; i < kDecodingRequests; ++i) {
    AddRequest request;
    request.name = "r" + std::to_string(i);
    request.key = static_cast<std::uint64_t>(i);
    request.prompt = {{.content = request.key, .length = 700 + i}};
    request.max_tokens = (kSteps + kDecodingRequests) * (1 + config_.num_speculative_tokens);
    HS_EXPECT(engine_->add_request(request).ok());
  }
  steps_left_ = kSteps;
}

void DecodingEngine::renew(const std::function<void(const StepTrace&)>& observe) {
  start();
  for (const StepTrace* trace = nullptr; trace == nullptr || !all_decode(*trace);) {
    trace = &engine_->step();
    observe(*trace);
  }
}

const StepTrace& DecodingEngine::step() {
  --steps_left_;
  return engine_->step();
}

}  // namespace hybridscope::bench
