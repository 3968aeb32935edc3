// The launches that carry out the operations of one step: what may run concurrently is one launch,
// what may not is several. Made on the host from the operations alone; valid wherever the
// operations are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_ops.h"
#include "kernels/copy_conflicts.h"
#include "kernels/forward_bodies.h"
#include "kernels/memory_map.h"
#include "kernels/row_runs.h"

namespace hybridscope {

enum class LaunchKind : std::uint8_t {
  poison,          // blocks [first, +count) of StateOps::poisoned
  copy,            // copies [first, +count)
  meeting_copies,  // the same, if they conflict
  fold,            // rows [first, +count)
  write_temporal,  // [first, +count) of StepPlan::temporal_writes
  write_conv,      // rows [first, +count)
};

struct Launch {
  LaunchKind kind = LaunchKind::poison;
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const Launch&, const Launch&) = default;
};

struct StepPlan {
  std::vector<Launch> launches;                // in order
  std::vector<TemporalWrite> temporal_writes;  // of all rows
  std::int64_t most_meeting = 0;               // copies in the largest launch of meeting_copies
};

class StepPlanner {
 public:
  explicit StepPlanner(const MemoryMap& map);

  // Requires: expect_valid(map, ops).
  StepPlan plan(const StateOps& ops);

 private:
  void add_copies(const StateOps& ops, const StateOpBatch& batch, StepPlan& plan);
  void add_rows(const StateOps& ops, const RowRun& run, StepPlan& plan);

  bool has_temporal_ = false;
  bool has_conv_ = false;
  CopyConflicts conflicts_;
  RowRuns row_runs_;
  std::int64_t write_number_ = 0;          // counts rows up over all calls
  std::vector<std::int64_t> last_writer_;  // [num_blocks] number of the last row that wrote it
};

}  // namespace hybridscope
