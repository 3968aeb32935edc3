// One run of a plan: one combination of settings on the plan's traffic, in the time that its steps
// are assumed to take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/trace/step_trace.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/plan/sweep.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/runner.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

// How long a step takes, as the user says: an assumption, from which a plan computes throughput and
// latencies (docs/plan.md, Step time).

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

// The traffic of a plan: read once, and its prompts hashed once, for all its runs.

// Threads may use it at the same time.
class PlanTraffic {
 public:
  // `limit`: takes only this many requests from the front; 0: all. `num_kept`: ways of folding that
  // are kept; at least one for each thread.
  PlanTraffic(std::string name, Traffic traffic, std::int64_t limit, std::size_t num_kept);
  PlanTraffic(const PlanTraffic&) = delete;
  PlanTraffic& operator=(const PlanTraffic&) = delete;

  const std::string& name() const { return name_; }
  const Traffic& traffic() const { return traffic_; }
  // From the first to the last arrival; 0: requests wait for others, so that it depends on the
  // engine.
  std::int64_t arrivals_us() const;

  // The fingerprints of all prompts for an engine with this configuration. Those used last are kept
  // for later calls; they depend on the block size and little else.
  FoldedPrompts folded(const EngineConfig& config);
  // How often all prompts were folded.
  std::int64_t num_folded() const;

  // 16 hex digits of all requests: their arrivals, prompts and lengths.
  std::string digest() const;

 private:
  struct Way {
    PromptFolding folding;
    std::mutex mutex;  // held while the prompts are folded
    FoldedPrompts prompts;
  };
  std::shared_ptr<Way> way_of(const PromptFolding& folding);

  std::string name_;
  Traffic traffic_;
  std::size_t num_kept_;
  mutable std::mutex mutex_;              // guards what follows
  std::list<std::shared_ptr<Way>> ways_;  // the last used in front
  std::int64_t num_folded_ = 0;
};

// What the engine made of the settings, for the reasons.
struct PlanSizes {
  std::string mamba_cache_mode = {};
  std::int64_t block_size = 0;   // tokens of an attention block
  std::int64_t num_blocks = 0;   // in the pool, the null block included
  std::int64_t block_bytes = 0;  // of a block, all layers of a group
  std::int64_t max_num_seqs = 0;
  std::int64_t num_speculative_tokens = 0;
  friend bool operator==(const PlanSizes&, const PlanSizes&) = default;
};

// 16 hex digits of the model's shapes: a config.json may change while a plan is interrupted, or
// before it is looked at. Error: an unknown or unreadable model.
Result<std::string> layout_digest(const std::string& model);

PlanSizes plan_sizes_of(const EngineSetup& setup);

inline constexpr std::string_view kDidNotEnd = "did not end: ";

struct PlanResult {
  std::string name = {};  // PlanCase::name
  // "not possible: ...", or "did not end: ...", whose figures are of its steps up to there; empty:
  // it ran to its end.
  std::string refused = {};
  PlanSizes sizes = {};
  std::int64_t num_changes = 0;  // Sweep::num_changes
  PlanFigures figures = {};
  std::vector<PlanPoint> points = {};
  friend bool operator==(const PlanResult&, const PlanResult&) = default;
  bool ran() const { return refused.empty(); }
  bool did_not_end() const { return refused.starts_with(kDidNotEnd); }
  bool has_steps() const { return figures.steps > 0; }
};

struct PlanRunOptions {
  std::string model = {};
  std::optional<StepTime> step_time = {};  // absent: nothing is said about time
  std::string name_suffix = {};            // of the results, behind the combination's name
  // Asked now and then; false ends the run. May be empty.
  std::function<bool()> go_on = {};
};

// Takes out of the traffic the requests that no combination serves, which would refuse all of them.
// Returns a sentence that counts and names them; empty: there are none. Sweeps of more than 10,000
// combinations are not looked at.
std::string leave_out_unserved(Traffic& traffic, const Sweep& sweep, const std::string& model);

// The plan of a combination's run. Errors: settings that the model, the GPU or a request does not
// allow.
Result<RunPlan> run_plan_of(const Sweep& sweep, const PlanCase& of, const PlanTraffic& traffic,
                            const PlanRunOptions& options);

// Runs the combination to its end. Decisions only: nothing is checked, as `run` would do. Settings
// that the model, the GPU or a request does not allow, and a run that cannot progress, are results
// too. Empty: go_on ended it. Error: an unknown or unreadable model.
Result<std::optional<PlanResult>> run_plan_case(const Sweep& sweep, const PlanCase& of,
                                                PlanTraffic& traffic,
                                                const PlanRunOptions& options);

}  // namespace hybridscope
