#include "kernels/row_meetings.h"

#include <algorithm>
#include <span>

namespace hybridscope {
namespace {

template <class T>
void cut_rows(TensorView<T>& table, std::int32_t first, std::int32_t end) {
  table.data += static_cast<std::ptrdiff_t>(first) * table.cols;
  table.rows = end - first;
}

template <class T>
void cut_rows(std::span<const T>& values, std::int32_t first, std::int32_t count) {
  if (!values.empty())
    values = values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

}  // namespace

RowMeetings::RowMeetings(std::int32_t num_blocks)
    : uses_(static_cast<std::size_t>(std::max(num_blocks, 0))) {}

RowMeetings::Use& RowMeetings::use_of(std::int32_t block) {
  Use& use = uses_[static_cast<std::size_t>(block)];
  if (use.range != range_) use = {.range = range_};
  return use;
}

bool RowMeetings::take(std::int32_t row, const std::vector<std::int32_t>& reads,
                       const std::vector<std::int32_t>& writes) {
  const auto is_other = [row](std::int32_t user) { return user != -1 && user != row; };
  for (const std::int32_t block : reads)
    if (is_other(use_of(block).writer)) return false;
  for (const std::int32_t block : writes)
    if (is_other(use_of(block).writer) || is_other(use_of(block).reader)) return false;
  for (const std::int32_t block : reads) {
    std::int32_t& reader = use_of(block).reader;
    reader = is_other(reader) ? kSeveral : row;
  }
  for (const std::int32_t block : writes) use_of(block).writer = row;
  return true;
}

template <class Places>
RowRanges RowMeetings::cut(std::int32_t num_rows, Places&& places) {
  const auto is_block = [this](std::int32_t block) {
    return block > 0 && static_cast<std::size_t>(block) < uses_.size();
  };
  RowRanges ends;
  begin();
  for (std::int32_t row = 0; row < num_rows; ++row) {
    reads_.clear();
    writes_.clear();
    places(
        row,
        [&](std::int32_t block) {
          if (is_block(block)) reads_.push_back(block);
        },
        [&](std::int32_t block) {
          if (is_block(block)) writes_.push_back(block);
        });
    if (take(row, reads_, writes_)) continue;
    ends.push_back(row);
    begin();
    static_cast<void>(take(row, reads_, writes_));
  }
  ends.push_back(num_rows);
  return ends;
}

RowRanges RowMeetings::ranges(const DecodeRows& rows) {
  return cut(rows.num_rows(), [&](std::int32_t row, auto&& reads, auto&& writes) {
    const std::int32_t count = rows.tokens(row).size();
    if (count <= 0) return;
    reads(rows.source(row, rows.offset(row)));
    reads(rows.conv_source(row));
    for (std::int32_t t = 0; t < count; ++t) writes(rows.destination(row, t));
  });
}

RowRanges RowMeetings::ranges(const PrefillRows& rows) {
  return cut(rows.num_rows(), [&](std::int32_t row, auto&& reads, auto&& writes) {
    if (rows.has_initial_state(row)) reads(rows.source(row));
    for (const BoundaryState& boundary : boundary_states(rows, row)) writes(boundary.block);
    writes(rows.destination(row));
  });
}

RowRanges RowMeetings::ranges(const AttentionRows& rows, std::int32_t block_size) {
  return cut(rows.num_rows(), [&](std::int32_t row, auto&&, auto&& writes) {
    const auto r = static_cast<std::size_t>(row);
    const std::int32_t count = rows.query_start_loc[r + 1] - rows.query_start_loc[r];
    if (rows.seq_lens[r] <= 0 || count <= 0) return;
    const std::int32_t last = rows.position(row, count - 1) / block_size;
    for (std::int32_t column = rows.position(row, 0) / block_size; column <= last; ++column)
      writes(block_at(rows.block_table, row, column));
  });
}

DecodeRows rows_between(DecodeRows rows, std::int32_t first, std::int32_t end) {
  const std::int32_t count = end - first;
  cut_rows(rows.state_indices, first, end);
  cut_rows(rows.query_start_loc, first, count + 1);
  cut_rows(rows.num_accepted_tokens, first, count);
  cut_rows(rows.source_column, first, count);
  cut_rows(rows.destination_column, first, count);
  cut_rows(rows.conv_source_column, first, count);
  return rows;
}

PrefillRows rows_between(PrefillRows rows, std::int32_t first, std::int32_t end) {
  const std::int32_t count = end - first;
  cut_rows(rows.query_start_loc, first, count + 1);
  cut_rows(rows.has_initial_states, first, count);
  cut_rows(rows.state_indices, first, end);
  cut_rows(rows.block_idx_first_scheduled_token, first, count);
  cut_rows(rows.block_idx_last_scheduled_token, first, count);
  cut_rows(rows.block_idx_last_computed_token, first, count);
  cut_rows(rows.num_computed_tokens, first, count);
  cut_rows(rows.checkpoint_offsets, first, count);
  cut_rows(rows.checkpoint_blocks, first, count);
  return rows;
}

AttentionRows rows_between(AttentionRows rows, std::int32_t first, std::int32_t end) {
  cut_rows(rows.query_start_loc, first, end - first + 1);
  cut_rows(rows.seq_lens, first, end - first);
  cut_rows(rows.block_table, first, end);
  return rows;
}

}  // namespace hybridscope
