// A stream of step records from any source: a session file, or an engine that runs while it is
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

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

// A step source before another one, which it asks; for sources that look at or end its steps.

class ForwardedSource : public StepSource {
 public:
  std::string title() const override { return source_->title(); }
  const EngineConfig& config() const override { return source_->config(); }
  RecordLevel level() const override { return source_->level(); }
  bool knows_own_counts() const override { return source_->knows_own_counts(); }
  std::int32_t digest_version() const override { return source_->digest_version(); }
  std::string request_name(RequestId request) const override {
    return source_->request_name(request);
  }
  Result<const StepStamp*> next() override { return source_->next(); }
  Result<const StepRecord*> record() override { return source_->record(); }

 protected:
  explicit ForwardedSource(std::unique_ptr<StepSource> source) : source_(std::move(source)) {}

 private:
  std::unique_ptr<StepSource> source_;
};

// A step source that can be ended from outside.

class InterruptibleSource final : public ForwardedSource {
 public:
  // `interrupted` is asked before each step.
  InterruptibleSource(std::unique_ptr<StepSource> source, std::function<bool()> interrupted)
      : ForwardedSource(std::move(source)), interrupted_(std::move(interrupted)) {}

  // Error not_available: it was interrupted.
  Result<const StepStamp*> next() override;

 private:
  std::function<bool()> interrupted_;
};

}  // namespace hybridscope
