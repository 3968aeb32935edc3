// Block tables of a session at one step as a blob, so that a step far from the first is reached
// without its whole history.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"
#include "storage/block_rows.h"

namespace hybridscope {

// The scheduler's and the worker's tables of a session.
struct SessionTables {
  explicit SessionTables(const BlockLimits& limits)
      : scheduler(limits.num_groups, limits.num_blocks), worker(limits.num_groups) {}

  // In the order of a step: its cache events, its changes of the worker's tables, its commit
  // events. A request whose table is dropped leaves both.
  void apply(const CacheEvent& event);
  void apply(const WorkerTableChange& change) { worker.apply(change); }

  BlockTableMirror scheduler;
  WorkerTables worker;
};

std::vector<std::uint8_t> encode_tables(const SessionTables& tables);
// Error corrupt: not such a blob, or tables that cannot be; requests are below `num_requests`.
Result<SessionTables> decode_tables(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                    std::int32_t num_requests);

// A keyframe is due after so many block events and worker table changes, or after as many as the
// tables of the last one had columns: it is then far smaller than the rows since then.
inline constexpr std::int64_t kKeyframeChanges = 4096;

// Sees every record that is written and says where keyframes are due.
class KeyframeMaker {
 public:
  explicit KeyframeMaker(const BlockLimits& limits) : tables_(limits) {}

  // Takes the step's changes over. When a keyframe is due at this step: the tables as the step
  // found them, encoded; empty otherwise. Valid until the next call.
  const std::vector<std::uint8_t>& add(const StepRecord& record);

 private:
  SessionTables tables_;
  std::int64_t num_changes_ = 0;  // since the last keyframe
  std::int64_t due_after_ = kKeyframeChanges;
  std::vector<std::uint8_t> blob_;
};

}  // namespace hybridscope
