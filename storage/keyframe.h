// Keyframes: a session's block tables at one step as a blob, so that a later step can be reached
// without all of its history.
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

  // Apply in the order of a step: its cache events, its worker table changes, its commit events. A
  // request whose table is dropped leaves both tables.
  void apply(const CacheEvent& event);
  void apply(const WorkerTableChange& change) { worker.apply(change); }

  BlockTableMirror scheduler;
  WorkerTables worker;
};

std::vector<std::uint8_t> encode_tables(const SessionTables& tables);
// Error corrupt: not such a blob, or impossible tables; request ids must be below `num_requests`.
Result<SessionTables> decode_tables(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                    std::int32_t num_requests);

// A keyframe is due after this many block events and worker table changes, or after as many as the
// last keyframe's tables had columns, if that is more. So it is much smaller than the rows since
// the last one.
inline constexpr std::int64_t kKeyframeChanges = 4096;

// Follows every record that is written and decides when a keyframe is due.
class KeyframeMaker {
 public:
  explicit KeyframeMaker(const BlockLimits& limits) : tables_(limits) {}

  // Applies the step's changes. If a keyframe is due at this step, returns the encoded tables as
  // they were before the step; otherwise empty. Valid until the next call.
  const std::vector<std::uint8_t>& add(const StepRecord& record);

 private:
  SessionTables tables_;
  std::int64_t num_changes_ = 0;  // since the last keyframe
  std::int64_t due_after_ = kKeyframeChanges;
  std::vector<std::uint8_t> blob_;
};

}  // namespace hybridscope
