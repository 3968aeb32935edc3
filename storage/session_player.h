// Goes back and forth in a recorded session: the step, and the scheduler's and the worker's block
// tables as they were during it, from the nearest keyframe and the changes since.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/record/worker_tables.h"
#include "storage/session_reader.h"

namespace hybridscope {

class SessionPlayer {
 public:
  static Result<std::unique_ptr<SessionPlayer>> open(const SessionPlace& place);
  virtual ~SessionPlayer() = default;

  virtual SessionReader& reader() = 0;
  // Error not_found: no such step.
  virtual Status go_to(std::int64_t step) = 0;
  // False: there is none.
  virtual Result<bool> step_forward() = 0;
  virtual Result<bool> step_back() = 0;

  // Of the step gone to last; valid until the next move.
  virtual const StepRecord& record() const = 0;
  // After the step's cache_events and before its commit_events (levels blocks and full).
  virtual const BlockTableMirror& scheduler_tables() const = 0;
  // After the step's changes.
  virtual const WorkerTables& worker_tables() const = 0;
};

}  // namespace hybridscope
