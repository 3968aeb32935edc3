// A stream of step records from any source: a session file, or an engine that runs while it is
// read.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// The part of a step that is cheap to read.
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

  // For display: "run.db:before", "scenario.json under reference".
  virtual std::string title() const = 0;
  virtual const EngineConfig& config() const = 0;
  virtual RecordLevel level() const = 0;
  // Do its records tell what accepted count each row leaves (OwnCounts)?
  virtual bool knows_own_counts() const { return level() != RecordLevel::counts; }
  // The version of its digests: digests of different versions cannot be compared.
  virtual std::int32_t digest_version() const { return kDigestVersion; }
  // The name of a request that some step has named.
  virtual std::string request_name(RequestId request) const = 0;

  // Moves to the next step; null after the last one. Valid until the next call. Errors: those of
  // the file or the engine behind it.
  virtual Result<const StepStamp*> next() = 0;
  // The complete record of next()'s last step; valid until the next call of next() or record().
  virtual Result<const StepRecord*> record() = 0;
};

}  // namespace hybridscope
