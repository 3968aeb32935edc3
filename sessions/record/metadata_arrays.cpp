#include "sessions/record/metadata_arrays.h"

#include <span>
#include <utility>

#include "core/metadata/metadata_fields.h"

namespace hybridscope {
namespace {

// Appends the fields it is shown.
struct Appender {
  std::int32_t group;
  std::vector<ArrayRecord>& arrays;

  template <class T>
  void operator()(std::string_view name, const T& value, ArrayDtype dtype) {
    if constexpr (std::is_arithmetic_v<T>)
      arrays.push_back({.group = group,
                        .name = name,
                        .dtype = dtype,
                        .dims = 0,
                        .values = {static_cast<std::int32_t>(value)}});
    else
      append_view(name, value, dtype);
  }
  void operator()(const CausalConv1dMetadata& conv1d) {
    if (!conv1d.present) {
      ArrayRecord none{
          .group = group, .name = "nums_dict", .present = false, .rows = 0, .values = {}};
      arrays.push_back(std::move(none));
      return;
    }
    append_view("nums_dict.8.nums", conv1d.nums, ArrayDtype::int32);
    (*this)("nums_dict.8.tot", conv1d.tot, ArrayDtype::host_int);
    append_view("batch_ptr", vector_view(conv1d.batch_ptr.data, conv1d.tot), ArrayDtype::int32);
    append_view("token_chunk_offset_ptr",
                vector_view(conv1d.token_chunk_offset_ptr.data, conv1d.tot), ArrayDtype::int32);
  }

  template <class T>
  void append_view(std::string_view name, const TensorView<T>& view, ArrayDtype dtype) {
    ArrayRecord array{
        .group = group, .name = name, .present = view.present, .dtype = dtype, .values = {}};
    array.rows = view.present ? view.rows : 0;
    array.cols = view.present ? view.cols : 1;
    array.dims = view.dims;
    if (view.present) array.values.assign(view.data, view.data + view.size());
    arrays.push_back(std::move(array));
  }
};

void append_batch(std::string_view name, std::span<const std::int32_t> values,
                  std::vector<ArrayRecord>& arrays) {
  arrays.push_back({.name = name,
                    .rows = static_cast<std::int32_t>(values.size()),
                    .values = {values.begin(), values.end()}});
}

}  // namespace

void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays) {
  append_batch("query_start_loc", trace.common.query_start_loc, arrays);
  append_batch("seq_lens", trace.common.seq_lens, arrays);
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    Appender append{group.group, arrays};
    if (group.temporal_source_column.present)
      append.append_view("temporal_source_column", group.temporal_source_column, ArrayDtype::int32);
    if (group.conv_source_column.present)
      append.append_view("conv_source_column", group.conv_source_column, ArrayDtype::int32);
    if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata))
      for_each_mamba_field(*mamba, append, append);
    else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
      for_each_mamba2_field(*mamba2, append, append);
    else
      for_each_gdn_field(std::get<GdnMetadata>(*group.metadata), append, append);
  }
}

}  // namespace hybridscope
