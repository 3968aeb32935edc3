#include "gui/model/step_arrays.h"

#include <algorithm>
#include <span>

#include "core/base/ids.h"
#include "core/metadata/builder_metadata.h"
#include "gui/model/metadata_model.h"

namespace hybridscope {
namespace {

template <class T>
NamedArray vector_array(const MetadataField& field, std::span<const T> values) {
  NamedArray array{
      .name = field.name, .dtype = field.dtype, .rows = field.rows, .elements = field.elements};
  array.dims.push_back(static_cast<std::int64_t>(values.size()));
  array.values.assign(values.begin(), values.end());
  return array;
}

MetadataField row_array(std::string_view name, ArrayElements elements,
                        ArrayDtype dtype = ArrayDtype::int32) {
  return {name, dtype, ArrayRows::batch, elements};
}

NamedArray number(std::string_view name, std::int64_t value) {
  return {.name = name, .dtype = ArrayDtype::host_int, .values = {value}};
}

NamedArrayGroup batch_arrays(const CommonAttentionMetadata& common) {
  NamedArrayGroup batch;
  batch.arrays = {
      number("num_reqs", common.num_reqs), number("num_actual_tokens", common.num_actual_tokens),
      number("max_query_len", common.max_query_len),
      vector_array(row_array("query_start_loc", ArrayElements::row_starts), common.query_start_loc),
      vector_array(row_array("seq_lens", ArrayElements::sequence_lengths), common.seq_lens)};
  if (!common.is_prefilling.empty())
    batch.arrays.push_back(
        vector_array(row_array("is_prefilling", ArrayElements::values, ArrayDtype::boolean),
                     common.is_prefilling));
  return batch;
}

void add_columns(std::string_view name, const TensorView<std::int32_t>& columns,
                 std::vector<NamedArray>& arrays) {
  if (!columns.present) return;
  arrays.push_back(
      vector_array<std::int32_t>({name, ArrayDtype::int32, ArrayRows::decodes},
                                 {columns.data, static_cast<std::size_t>(columns.rows)}));
}

}  // namespace

const NamedArray* NamedArrayGroup::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays, name, &NamedArray::name);
  return found == arrays.end() ? nullptr : &*found;
}

const NamedArrayGroup* NamedStepArrays::find(std::int32_t group) const {
  const auto found = std::ranges::find(groups, group, &NamedArrayGroup::group);
  return found == groups.end() ? nullptr : &*found;
}

NamedStepArrays step_arrays(const StepTrace& trace) {
  NamedStepArrays all;
  all.step = trace.step;
  all.groups.push_back(batch_arrays(trace.common));
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    NamedArrayGroup arrays{.group = group.group, .arrays = named_arrays(*group.metadata)};
    add_columns("temporal_source_column", group.temporal_source_column, arrays.arrays);
    add_columns("conv_source_column", group.conv_source_column, arrays.arrays);
    all.groups.push_back(std::move(arrays));
  }
  return all;
}

std::int64_t num_elements(const NamedArray& array) {
  std::int64_t size = 1;
  for (const std::int64_t dim : array.dims) size *= dim;
  return size;
}

std::int64_t element_at(const NamedArray& array, std::int64_t index) {
  return index < static_cast<std::int64_t>(array.values.size())
             ? array.values[static_cast<std::size_t>(index)]
             : array.fill;
}

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
