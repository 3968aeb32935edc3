// Moves back and forth in a recorded session: the step's record, and the scheduler's and the
// worker's block tables during the step, from the nearest keyframe and the changes since.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/record/record_views.h"
#include "storage/session_reader.h"

namespace hybridscope {

class SessionPlayer {
 public:
  // Starts before the first step. Errors: those of SessionReader.
  static Result<std::unique_ptr<SessionPlayer>> open(const SessionPlace& place);
  ~SessionPlayer();
  SessionPlayer(const SessionPlayer&) = delete;
  SessionPlayer& operator=(const SessionPlayer&) = delete;

  // Reading a step through it invalidates record().
  SessionReader& reader();
  // 0: before the first step, or after an error.
  std::int64_t step() const;
  // Error not_found: no such step; the player stays where it is. Errors corrupt and io: the player
  // is before the first step afterwards.
  Status go_to(std::int64_t step);

  // The record of the current step; valid until the next move.
  const StepRecord& record() const;
  // After the step's cache_events and before its commit_events. Levels blocks and full; empty at
  // level counts.
  const BlockTableMirror& scheduler_tables() const;
  // After the step's worker table changes.
  const WorkerTables& worker_tables() const;

 private:
  struct Impl;
  explicit SessionPlayer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope
