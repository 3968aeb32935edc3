// Makes the records of a session: the decisions of each step, as far as the level keeps them. Works
// for runs of our engine and for judged traces.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_digests.h"
#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"
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

}  // namespace hybridscope
