// Rows of a batch run in order, but kernels run many rows at once: a batch is cut into runs of
// independent rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/state/state_ops.h"

namespace hybridscope {

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

}  // namespace hybridscope
