#include "gui/model/table_arrays.h"

#include <algorithm>

#include "core/base/ids.h"

namespace hybridscope {
namespace {

// Marks what the step changed in the worker's tables.
void mark_changes(const StepView& view, std::int32_t group, MetadataArray& shown) {
  const std::int64_t columns = shown.num_columns();
  for (const WorkerTableChange& change : view.worker_changes) {
    if (change.group != group || change.column >= columns) continue;
    const auto row = std::ranges::find(view.trace.rows, change.request, &RowTrace::request);
    const std::int64_t index = (row - view.trace.rows.begin()) * columns + change.column;
    if (row == view.trace.rows.end() || index >= num_elements(shown.array)) continue;
    shown.changed.resize(shown.array.values.size());
    std::uint8_t& mark = shown.changed[static_cast<std::size_t>(index)];
    shown.num_changed += mark == 0 ? 1 : 0;
    mark = 1;
  }
}

// Sessions do not record the width of the tensor.
std::int32_t columns_in_use(const TensorView<std::int32_t>& table) {
  for (std::int32_t columns = table.cols; columns > 0; --columns)
    for (std::int32_t row = 0; row < table.rows; ++row)
      if (table.at(row, columns - 1) != kNullBlock) return columns;
  return 0;
}

MetadataArray block_table(const StepView& view, const GroupTrace& group) {
  const TensorView<std::int32_t>& table = group.block_table;
  MetadataArray shown;
  shown.array = {.name = "block_table_tensor", .dtype = ArrayDtype::int32};
  shown.array.dims.push_back(table.rows);
  const std::int32_t columns = columns_in_use(table);
  shown.array.dims.push_back(columns);
  for (std::int32_t row = 0; row < table.rows; ++row)
    for (std::int32_t column = 0; column < columns; ++column)
      shown.array.values.push_back(table.at(row, column));
  shown.array.rows = ArrayRows::batch;
  shown.holds_blocks = true;
  mark_changes(view, group.group, shown);
  return shown;
}

// compute_slot_mapping: block * tokens per block + slot; -1 past the real tokens.
MetadataArray slot_mapping(const StepView& view, const GroupTrace& group) {
  MetadataArray shown;
  shown.array = {.name = "slot_mapping", .dtype = ArrayDtype::int64};
  const std::int64_t size =
      std::max(view.trace.common.num_actual_tokens, view.trace.num_scheduled_tokens);
  shown.array.dims.push_back(size);
  shown.array.values.assign(static_cast<std::size_t>(size), kPadSlotId);
  const auto& starts = view.trace.common.query_start_loc;
  for (const AttentionWrite& write : group.attention_writes) {
    if (write.row < 0 || static_cast<std::size_t>(write.row) >= starts.size()) continue;
    const std::int64_t first = starts[static_cast<std::size_t>(write.row)] + write.first_token;
    for (std::int64_t i = 0; i < write.num_slots; ++i)
      if (first + i >= 0 && first + i < size)
        shown.array.values[static_cast<std::size_t>(first + i)] =
            std::int64_t{write.block} * group.block_size + write.first_slot + i;
  }
  return shown;
}

}  // namespace

std::vector<MetadataArray> table_arrays(const StepView& view, const GroupTrace& group) {
  std::vector<MetadataArray> arrays;
  if (group.block_table.present) arrays.push_back(block_table(view, group));
  if (!group.is_mamba && !group.attention_writes.empty())
    arrays.push_back(slot_mapping(view, group));
  return arrays;
}

}  // namespace hybridscope
