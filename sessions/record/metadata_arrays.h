// The arrays that layers were given in a step, between a StepTrace's views and the owning arrays of
// a record.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/metadata/metadata_field.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Shows visit(group, name, value, dtype) the fields of one group's metadata; `value`: a TensorView
// or a plain number.
template <class Visit>
struct GroupArrays {
  std::int32_t group;
  Visit& visit;

  template <class T>
  void operator()(const MetadataField& field, const T& value) {
    visit(group, field.name, value, field.dtype);
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

// Shows visit(group, name, value, dtype) the batch's arrays (query_start_loc, seq_lens, group -1)
// and, group by group, those of its builder's metadata by the reference's names, before them the
// columns that decode rows of mode all read from where the trace has them. Arrays behind whose
// written part every element is -1 (batch_ptr, token_chunk_offset_ptr) are shown as far as they are
// written. Records and digests both walk this list.
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

// Appends what for_each_array shows.
void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays);

}  // namespace hybridscope
