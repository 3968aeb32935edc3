// What a real server left: the steps of recorded traces that tell their time, with the work that a
// step time depends on, and the sizes that a start-up log names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/releases.h"
#include "sessions/plan/step_time_fit.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

struct RecordedStepsOptions {
  // Preset or config.json, from which the bytes of a state follow; empty: copied bytes are 0.
  std::string model;
  EngineSettings settings;  // of the model, where they say how large a state is
  std::int64_t skip = 0;    // first steps of each trace that are left out
};

struct RecordedStep {
  StepWork work;
  std::optional<std::int64_t> time_us;  // empty: not told, or skipped
  // Asynchronous scheduling: a part of its time is that of the step before in the same trace, in
  // which it was launched.
  bool reaches_back = false;
  std::string file;
  std::int64_t line = 0;
  std::int64_t step = 0;
};

// What can be fitted of recorded steps.
struct TimedSteps {
  std::vector<TimedStep> steps;
  std::vector<std::size_t> first;  // [steps] the first of the recorded steps that each consists of
};

// Up to so many steps that reach back are told together with the one before them.
inline constexpr std::int64_t kMostStepsTogether = 8;

// The steps with a time; those that reach back together with the one before. Several that lack the
// time of one of them are left out.
TimedSteps timed_steps(const std::vector<RecordedStep>& recorded);

class RecordedSteps {
 public:
  explicit RecordedSteps(RecordedStepsOptions options);
  ~RecordedSteps();

  // Begins another file.
  void begin_file(const std::string& file);
  // A line of it. Errors: those of TraceReader and ForeignImporter, with file and line; a model
  // with another number of recurrent groups than the trace. Requires: begin_file().
  Status take(PaddedLine text, std::int64_t line);

  // Steps with tokens.
  const std::vector<RecordedStep>& steps() const { return steps_; }
  std::int64_t num_steps() const { return static_cast<std::int64_t>(steps_.size()); }
  std::int64_t num_without_time() const { return num_without_time_; }
  std::int64_t num_skipped() const { return num_skipped_; }
  bool has_async() const { return has_async_; }
  // Does a trace come from a run of hybridscope, whose times are simulated?
  bool has_simulated() const { return has_simulated_; }

 private:
  struct Trace;
  Status begin_trace();
  Status add_step();

  RecordedStepsOptions options_;
  std::unique_ptr<Trace> trace_;
  std::vector<RecordedStep> steps_;
  std::int64_t num_without_time_ = 0;
  std::int64_t num_skipped_ = 0;
  bool has_async_ = false;
  bool has_simulated_ = false;
};

}  // namespace hybridscope
