// The steps of recorded traces that tell their time, with the work that a step time depends on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/step_time_fit.h"
#include "sessions/scenario/settings.h"
#include "sessions/text/line_source.h"

namespace hybridscope {

struct RecordedStepsOptions {
  // Preset or config.json, from which the bytes of a state follow; empty: copied bytes are 0.
  std::string model;
  EngineSettings settings;  // of the model, where they say how large a state is
  std::int64_t skip = 0;    // first steps of each trace that are left out
};

// Where a step stands.
struct RecordedPlace {
  std::string file;
  std::int64_t line = 0;
  std::int64_t step = 0;
};

class RecordedSteps {
 public:
  explicit RecordedSteps(RecordedStepsOptions options);
  ~RecordedSteps();

  // Begins another file.
  void begin_file(const std::string& file);
  // A line of it. Errors: those of TraceReader and ForeignImporter, with file and line; a model
  // with another number of recurrent groups than the trace. Requires: begin_file().
  Status take(PaddedLine text, std::int64_t line);

  // Steps with a time, and where they are.
  const std::vector<TimedStep>& steps() const { return steps_; }
  // The same, but with asynchronous scheduling each time has the work of the frame after it (of its
  // own, if none comes): what was launched while the frame was in flight.
  std::vector<TimedStep> steps_with_next_work() const;
  bool has_async() const { return has_async_; }
  const RecordedPlace& place(std::size_t index) const { return places_[index]; }
  // Steps with tokens, those without a time and the skipped ones included.
  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_without_time() const { return num_without_time_; }
  std::int64_t num_skipped() const { return num_skipped_; }
  // Does a trace come from a run of hybridscope, whose times are simulated?
  bool has_simulated() const { return has_simulated_; }

 private:
  struct Trace;
  Status begin_trace();
  Status add_step();

  RecordedStepsOptions options_;
  std::unique_ptr<Trace> trace_;
  std::vector<TimedStep> steps_;
  std::vector<StepWork> next_work_;  // [steps]
  std::vector<RecordedPlace> places_;
  std::int64_t num_steps_ = 0;
  std::int64_t num_without_time_ = 0;
  std::int64_t num_skipped_ = 0;
  bool has_async_ = false;
  bool has_simulated_ = false;
};

}  // namespace hybridscope
