// A run as a stream of step records, wherever it comes from: a session file or an engine that runs
// while it is read.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// What is cheap to know of a step.
struct StepStamp {
  std::int64_t step = 0;
  StepDigests digests;
  StepCounts counts;
};

class StepSource {
 public:
  StepSource() = default;
  StepSource(const StepSource&) = delete;
  StepSource& operator=(const StepSource&) = delete;
  virtual ~StepSource() = default;

  // For people: "run.db:before", "scenario.json under pages".
  virtual std::string title() const = 0;
  virtual const EngineConfig& config() const = 0;
  virtual RecordLevel level() const = 0;
  // How its digests were made: those of two versions say nothing about each other.
  virtual std::int32_t digest_version() const { return kDigestVersion; }
  // How a request that some step has named is called.
  virtual std::string request_name(RequestId request) const = 0;

  // Goes on to the next step; null after the last one. Valid until the next call. Errors: those of
  // the file or the engine behind it.
  virtual Result<const StepStamp*> next() = 0;
  // Everything about the step that next() told of last; valid until the next call of either.
  virtual Result<const StepRecord*> record() = 0;
};

}  // namespace hybridscope
