#include "core/metadata/named_arrays.h"

namespace hybridscope {
namespace {

NamedArray number(const MetadataField& field, std::int64_t value) {
  return {.name = field.name, .dtype = field.dtype, .values = {value}};
}

template <class T>
NamedArray array(const MetadataField& field, const TensorView<T>& view) {
  NamedArray result{.name = field.name,
                    .present = view.present,
                    .dtype = field.dtype,
                    .rows = field.rows,
                    .elements = field.elements};
  if (!view.present) return result;
  result.dims.push_back(view.rows);
  if (view.dims == 2) result.dims.push_back(view.cols);
  result.values.assign(view.data, view.data + view.size());
  return result;
}

// Keeps the written part only: everything after it is -1.
NamedArray pointer_array(std::string_view name, const TensorView<std::int32_t>& view) {
  NamedArray result{.name = name, .present = view.present, .dtype = ArrayDtype::int32, .fill = -1};
  if (!view.present) return result;
  result.dims.push_back(view.rows);
  std::int32_t written = view.rows;
  while (written > 0 && view.data[written - 1] == -1) --written;
  result.values.assign(view.data, view.data + written);
  return result;
}

void append_conv1d(const MetadataField& field, const CausalConv1dMetadata& conv1d,
                   std::vector<NamedArray>& out) {
  using enum ArrayDtype;
  if (!conv1d.present) {
    out.push_back({.name = field.name, .present = false});
  } else {
    out.push_back(array({"nums_dict.8.nums", int32, field.rows}, conv1d.nums));
    out.push_back(number({"nums_dict.8.tot", host_int}, conv1d.tot));
    out.push_back(array({"nums_dict.8.mlist", int64}, conv1d.mlist()));
    out.push_back(number({"nums_dict.8.mlist_len", host_int}, conv1d.tot));
    out.push_back(array({"nums_dict.8.offsetlist", int32}, conv1d.offsetlist()));
  }
  out.push_back(pointer_array("batch_ptr", conv1d.batch_ptr));
  out.push_back(pointer_array("token_chunk_offset_ptr", conv1d.token_chunk_offset_ptr));
}

// Appends each field it visits.
struct Lister {
  std::vector<NamedArray>& out;
  void operator()(const MetadataField& field, std::int32_t value) const {
    if (is_left_out(field, value)) return;
    out.push_back(number(field, value));
  }
  template <class T>
  void operator()(const MetadataField& field, const TensorView<T>& view) const {
    if (is_left_out(field, view)) return;
    out.push_back(array(field, view));
  }
  void operator()(const MetadataField& field, const CausalConv1dMetadata& conv1d) const {
    append_conv1d(field, conv1d, out);
  }
  void operator()(const MetadataField&, TokenIndxDtype) const {}
};

}  // namespace

std::vector<NamedArray> named_arrays(const BuilderMetadata& metadata) {
  std::vector<NamedArray> out;
  for_each_field(metadata, Lister{out});
  return out;
}

}  // namespace hybridscope
