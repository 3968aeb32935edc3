// An engine whose 256 requests all decode: prompts are computed, nothing waits, nothing ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/engine/engine.h"

namespace hybridscope::bench {

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
