// The metadata arrays of a step: converts between the views of a StepTrace and the owning arrays of
// a record.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/metadata/metadata_description.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Calls visit(group, name, value, dtype) for each field of one group's metadata; `value` is a
// TensorView or a plain number.
template <class Visit>
struct GroupArrays {
  std::int32_t group;
  Visit& visit;

  template <class T>
  void operator()(const MetadataField& field, const T& value) {
    if (!is_left_out(field, value)) visit(group, field.name, value, field.dtype);
  }
  void operator()(const MetadataField&, TokenIndxDtype) {}
  void operator()(const MetadataField& field, const CausalConv1dMetadata& conv1d) {
    if (!conv1d.present)
      return visit(group, field.name, TensorView<std::int32_t>{}, ArrayDtype::int32);
    visit(group, "nums_dict.8.nums", conv1d.nums, ArrayDtype::int32);
    visit(group, "nums_dict.8.tot", conv1d.tot, ArrayDtype::host_int);
    visit(group, "batch_ptr", vector_view(conv1d.batch_ptr.data, conv1d.tot), ArrayDtype::int32);
    visit(group, "token_chunk_offset_ptr",
          vector_view(conv1d.token_chunk_offset_ptr.data, conv1d.tot), ArrayDtype::int32);
  }
};

// Calls visit(group, name, value, dtype) for the batch's arrays (query_start_loc, seq_lens; group
// -1), then for each group: the columns that decode rows of mode all read from, if the trace has
// them, and the arrays of its builder's metadata under the reference's names. Arrays that end in
// unwritten elements of -1 (batch_ptr, token_chunk_offset_ptr) are visited up to the written part.
// Records and digests both use this list.
template <class Visit>
void for_each_array(const StepTrace& trace, Visit&& visit) {
  const auto batch = [&](std::string_view name, std::span<const std::int32_t> values) {
    visit(-1, name, vector_view(values.data(), static_cast<std::int32_t>(values.size())),
          ArrayDtype::int32);
  };
  batch("query_start_loc", trace.common.query_start_loc);
  batch("seq_lens", trace.common.seq_lens);
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    if (group.temporal_source_column.present)
      visit(group.group, "temporal_source_column", group.temporal_source_column, ArrayDtype::int32);
    if (group.conv_source_column.present)
      visit(group.group, "conv_source_column", group.conv_source_column, ArrayDtype::int32);
    GroupArrays<std::remove_reference_t<Visit>> show{group.group, visit};
    for_each_field(*group.metadata, show);
  }
}

// Appends the arrays that for_each_array visits.
void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays);

}  // namespace hybridscope
