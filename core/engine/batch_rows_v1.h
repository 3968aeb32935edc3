// The V1 runner's persistent batch: a dense list of rows that survives between steps
// (semantics: update-states, input-batch, reorder-batch; vLLM v1/worker/gpu_input_batch.py).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/engine/block_table.h"
#include "core/engine/engine_request.h"

namespace hybridscope {

// Regions of a batch, in row order, and what they are for (semantics: reorder-batch).
enum class RowRegion : std::uint8_t { decode, short_extend, long_extend, prefill };

struct BatchRow {
  RequestId request;
  AcceptedCount accepted;          // num_accepted_tokens_cpu: moves with the row
  bool was_discarded = false;      // its last frame sampled nothing: an unfinished chunk
  std::int32_t previous_row = -1;  // in the step before, -1: none
};

class BatchRowsV1 {
 public:
  // `columns`: widths of the worker's block tables, one per KV-cache group.
  BatchRowsV1(std::int32_t max_num_reqs, std::span<const std::int32_t> columns);

  std::span<const BatchRow> rows() const { return rows_; }
  BatchRow& row(std::int32_t index) { return rows_[static_cast<std::size_t>(index)]; }
  // Row of a request, -1: none. Constant time.
  std::int32_t row_of(RequestId request) const;
  // What the arrays of the batch hold at a row index: a vacated row keeps its values
  // (semantics: input-batch).
  const BatchRow& left_at(std::int32_t row) const;
  BlockTable& block_table(std::int32_t group) { return tables_[static_cast<std::size_t>(group)]; }
  const BlockTable& block_table(std::int32_t group) const {
    return tables_[static_cast<std::size_t>(group)];
  }

  std::span<BlockTable> block_tables() { return tables_; }  // [groups]

  // Call first in a step: every row's previous_row becomes its row.
  void start_step();
  // Leaves a hole; the row's block ids are nulled, its count stays.
  void remove(RequestId request);
  // Takes the lowest hole, else a new last row; the accepted count starts at 1. The caller writes
  // the block tables of the row that is returned.
  std::int32_t add(RequestId request);
  // Moves the last row into the lowest hole until none is left.
  void condense();
  // Brings rows into the order of their regions by the reference's swaps, which are not stable.
  // Requires: no holes; `region` has one element per row.
  void reorder(std::span<const RowRegion> region);

 private:
  void swap_rows(std::int32_t a, std::int32_t b);
  void set_row_of(RequestId request, std::int32_t row);

  void drop_last_row();

  std::vector<BatchRow> rows_;        // holes have no request
  std::vector<BatchRow> vacated_;     // [max_num_reqs] last values of vacated rows
  std::vector<std::int32_t> holes_;   // ascending
  std::vector<std::int32_t> row_of_;  // by request id, -1: none
  std::vector<BlockTable> tables_;    // by group
};

}  // namespace hybridscope
