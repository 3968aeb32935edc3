// Makes the records of a session: the decisions of each step, as far as the level keeps them, of
// runs of our engine and of judged traces.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_digests.h"
#include "sessions/record/step_record.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

class StepRecorder {
 public:
  // `name` returns a request's name; it is called while the request's step is recorded.
  StepRecorder(const EngineConfig& config, RecordLevel level,
               std::function<std::string(RequestId)> name);

  RecordLevel level() const { return level_; }

  // Fills `record`, without speech, and reuses its storage. Steps must come in order. `writes`: the
  // checker's log, read at level full only.
  void record(const StepTrace& trace, std::span<const Finding> findings,
              std::span<const StateWrite> writes, StepRecord& record);

 private:
  void count(const StepTrace& trace, std::span<const Finding> findings, StepCounts& counts);

  RecordLevel level_;
  StepDigester digester_;
  SummaryBuilder sizes_;
  StepTables tables_;
};

// A run as a stream of records: each next() runs one step of the engine under the checker.

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
