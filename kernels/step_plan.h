// The launches that carry out the operations of one step: what may run concurrently is one launch,
// what may not is several. Made on the host from the operations alone; valid wherever the
// operations are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_ops.h"
#include "kernels/forward_bodies.h"
#include "kernels/memory_map.h"

namespace hybridscope {

// Do copies of one launch conflict? Sources are read before anything is written (semantics: I13),
// so such copies cannot all run at once.

class CopyConflicts {
 public:
  explicit CopyConflicts(std::int32_t num_blocks);

  // Is a block written by two copies, or read by one and written by another? The groups do not
  // matter: pages of all groups lie in the same buffers.
  bool found_in(std::span<const StateCopyOp> copies);

 private:
  std::vector<std::int32_t> written_by_;  // [num_blocks] copy + 1; 0 between two calls
};

// Rows of a batch run in order, but kernels run many rows at once: a batch is cut into runs of
// independent rows.

struct RowRun {
  std::int32_t first = 0;  // into StateOps::rows
  std::int32_t count = 0;
  friend bool operator==(const RowRun&, const RowRun&) = default;
};

class RowRuns {
 public:
  explicit RowRuns(std::int32_t num_blocks);

  // A run ends before a row that reads or writes a block which the run writes, or writes one which
  // the run reads. Group and kind of state do not matter. Requires: a batch of rows, blocks inside
  // the memory.
  std::vector<RowRun> split(const StateOps& ops, const StateOpBatch& batch);

 private:
  bool notices(const StateOps& ops, const ForwardRow& row) const;
  void mark(const StateOps& ops, const ForwardRow& row);

  std::int64_t run_ = 0;                  // counts up over all calls
  std::vector<std::int64_t> read_in_;     // [num_blocks] the last run that reads a block
  std::vector<std::int64_t> written_in_;  // [num_blocks]
};

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
