#include "gui/model/step_arrays.h"

#include <algorithm>
#include <span>

#include "core/metadata/builder_metadata.h"

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

}  // namespace hybridscope
