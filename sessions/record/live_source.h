// A run as a stream of records: each next() runs one step of the engine under the checker.
#pragma once

#include <memory>
#include <string>

#include "sessions/record/step_recorder.h"
#include "sessions/record/step_source.h"
#include "sessions/run/checked_run.h"

namespace hybridscope {

class LiveSource final : public StepSource {
 public:
  // Errors: those of CheckedRun.
  static Result<std::unique_ptr<LiveSource>> create(RunPlan plan, RecordLevel level,
                                                    std::string title,
                                                    CheckScope scope = CheckScope::step);
  // A source that can have a language model on its decisions.
  static Result<std::unique_ptr<LiveSource>> create(RunPlan plan, RecordLevel level,
                                                    std::string title, CheckedRunOptions options);

  std::string title() const override { return title_; }
  const EngineConfig& config() const override { return run_.engine().config(); }
  RecordLevel level() const override { return recorder_.level(); }
  std::string request_name(RequestId request) const override;

  // A run that makes no progress ends with the step that reports it.
  Result<const StepStamp*> next() override;
  Result<const StepRecord*> record() override { return &record_; }

 private:
  LiveSource(CheckedRun run, RecordLevel level, std::string title);

  std::string title_;
  CheckedRun run_;
  StepRecorder recorder_;
  StepRecord record_;
  StepStamp stamp_;
};

}  // namespace hybridscope
