// The worker's block table of one KV-cache group: one row a batch row, ids by column. Append-only:
// the scheduler empties and moves columns without notifying the worker, so old columns keep old ids
// ("stale heads"; semantics: worker-block-table; vLLM v1/worker/block_table.py).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/state/copy_launch.h"

namespace hybridscope {

class BlockTable {
 public:
  BlockTable(std::int32_t max_num_reqs, std::int32_t max_num_blocks_per_req);

  // Writes ids after the row's last one. Requires: they fit the width.
  void append_row(std::int32_t row, std::span<const std::int32_t> block_ids);
  // Writes ids from column 0 on; older entries beyond the new ones stay. Requires: they fit the
  // width.
  void add_row(std::int32_t row, std::span<const std::int32_t> block_ids);
  // Nulls the row's ids and sets its length to 0; older entries beyond the ids stay.
  void clear_row(std::int32_t row);
  // Copies ids and length down; `from` keeps both.
  void move_row(std::int32_t from, std::int32_t to);
  // Exchanges whole rows and lengths.
  void swap_row(std::int32_t a, std::int32_t b);
  // Nulls whole rows [first, last): what padding does to the device's copy before every build. Rows
  // below `last` may be viewed from then on.
  void null_rows(std::int32_t first, std::int32_t last);

  std::span<const std::int32_t> row(std::int32_t row) const;  // [num_blocks_per_row]
  // [num_rows, columns]. Requires: one of these rows or a later one has been written or nulled.
  TensorView<std::int32_t> rows(std::int32_t num_rows) const;
  // The rows there are, as the copies of mamba group `group` read them. Views are valid while
  // nothing is written.
  MambaBlockTable mamba_view(std::int32_t group) const;
  std::int32_t num_columns() const { return columns_; }
  // Rows up to the last one that was ever written or nulled; all others are null.
  std::int32_t num_rows() const;

 private:
  void make_rows(std::int32_t num_rows);
  std::int32_t* begin_of(std::int32_t row);
  std::int32_t columns_ = 0;
  // [num_rows, columns]: with the default max_model_len and 256 rows a whole table has 32 MiB, and
  // most runs use a few rows of it.
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> num_blocks_per_row_;  // [max_num_reqs]
};

}  // namespace hybridscope
