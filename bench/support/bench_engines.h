// Engines for benches: settings of a model, and an engine that decodes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/engine/engine.h"
#include "core/engine/engine_config.h"

namespace hybridscope::bench {

// Engine settings of a model by name, in mode align, as `hybridscope run` would resolve them.

// The pool holds 32,768 blocks, more than any bench needs: no eviction, no preemption.
EngineConfig model_config(const char* preset, std::int32_t num_speculative_tokens);

// An engine whose 256 requests all decode: prompts are computed, nothing waits, nothing ends.

inline constexpr std::int32_t kDecodingRequests = 256;

class DecodingEngine {
 public:
  explicit DecodingEngine(const EngineConfig& config) : config_(config) {}

  // A new engine that has computed the prompts; `observe` sees every step's trace.
  void renew(const std::function<void(const StepTrace&)>& observe);

  // Requires: renew() came first.
  const StepTrace& step();

  // A request may end soon, or there is no engine yet.
  bool worn_out() const { return steps_left_ == 0; }

 private:
  void start();

  EngineConfig config_;
  std::optional<Engine> engine_;
  std::int32_t steps_left_ = 0;
};

}  // namespace hybridscope::bench
