// How long a step takes, as the user says: an assumption, from which a plan computes throughput and
// latencies (docs/plan.md, Step time).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

// What of a step an assumed step time depends on (docs/plan.md, Step time).

struct StepWork {
  std::int64_t prefill = 0;       // tokens of prompts, as long as the prompt is computed first
  std::int64_t decode = 0;        // other tokens: drafts, and output that is computed again
  std::int64_t copied_bytes = 0;  // of states, before and after the forward pass
  friend bool operator==(const StepWork&, const StepWork&) = default;
};

class StepWorkCounter {
 public:
  // The states' sizes are those of `config`.
  explicit StepWorkCounter(const EngineConfig& config) : bytes_(config) {}

  StepWork count(const StepTrace& trace) const;

 private:
  SummaryBuilder bytes_;
};

// Microseconds: base + prefill * tokens of prompts + decode * other tokens + copied_bytes * bytes
// of states that the step copies.
struct StepTime {
  double base_us = 0;
  double prefill_us = 0;
  double decode_us = 0;
  double copied_byte_us = 0;
  friend bool operator==(const StepTime&, const StepTime&) = default;

  // Microseconds, not rounded.
  double of(const StepWork& work) const;

  StepTime times(double factor) const {
    return {base_us * factor, prefill_us * factor, decode_us * factor, copied_byte_us * factor};
  }
};

// Other step times for which a plan says what it would recommend.
struct OtherStepTime {
  double factor;
  std::string_view words;   // "if steps take half as long"
  std::string_view suffix;  // of the results' names
};
inline constexpr std::array kOtherStepTimes = {
    OtherStepTime{0.5, "if steps take half as long", " (step time x0.5)"},
    OtherStepTime{2, "if steps take twice as long", " (step time x2)"}};

// "20000 + 30*prefill + 30*decode + 0.0002*copied_bytes": a sum of at most one term of each kind,
// in microseconds, or each number with its unit ("20ms", "30us", "0.3ns"). Error: what was found
// where, and what was expected.
Result<StepTime> parse_step_time(std::string_view text);

// A file with such a sum on one line; blank lines and those that begin with # are skipped. Errors:
// those of LineSource; corrupt "FILE:LINE: ...".
Result<StepTime> read_step_time_file(const std::string& file);

// In the form that parse_step_time takes.
std::string step_time_text(const StepTime& time);

// The clock of an engine with this configuration.
std::shared_ptr<const StepClock> make_step_clock(const StepTime& time, const EngineConfig& config);

}  // namespace hybridscope
