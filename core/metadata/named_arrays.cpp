#include "core/metadata/named_arrays.h"

#include "core/metadata/metadata_fields.h"

namespace hybridscope {
namespace {

NamedArray number(std::string_view name, std::int64_t value,
                  ArrayDtype dtype = ArrayDtype::host_int) {
  return {.name = name, .dtype = dtype, .values = {value}};
}

template <class T>
NamedArray array(std::string_view name, const TensorView<T>& view, ArrayDtype dtype) {
  NamedArray result{.name = name, .present = view.present, .dtype = dtype};
  if (!view.present) return result;
  result.dims.push_back(view.rows);
  if (view.dims == 2) result.dims.push_back(view.cols);
  result.values.assign(view.data, view.data + view.size());
  return result;
}

// Keeps the written part only: everything behind it is -1.
NamedArray pointer_array(std::string_view name, const TensorView<std::int32_t>& view) {
  NamedArray result{.name = name, .present = view.present, .dtype = ArrayDtype::int32, .fill = -1};
  if (!view.present) return result;
  result.dims.push_back(view.rows);
  std::int32_t written = view.rows;
  while (written > 0 && view.data[written - 1] == -1) --written;
  result.values.assign(view.data, view.data + written);
  return result;
}

void append_conv1d(const CausalConv1dMetadata& conv1d, std::vector<NamedArray>& out) {
  if (!conv1d.present) {
    out.push_back({.name = "nums_dict", .present = false});
  } else {
    out.push_back(array("nums_dict.8.nums", conv1d.nums, ArrayDtype::int32));
    out.push_back(number("nums_dict.8.tot", conv1d.tot));
    out.push_back(array("nums_dict.8.mlist", conv1d.mlist(), ArrayDtype::int64));
    out.push_back(number("nums_dict.8.mlist_len", conv1d.tot));
    out.push_back(array("nums_dict.8.offsetlist", conv1d.offsetlist(), ArrayDtype::int32));
  }
  out.push_back(pointer_array("batch_ptr", conv1d.batch_ptr));
  out.push_back(pointer_array("token_chunk_offset_ptr", conv1d.token_chunk_offset_ptr));
}

// Appends the fields it is shown.
struct Lister {
  std::vector<NamedArray>& out;
  void operator()(std::string_view name, std::int32_t value, ArrayDtype dtype) const {
    out.push_back(number(name, value, dtype));
  }
  template <class T>
  void operator()(std::string_view name, const TensorView<T>& view, ArrayDtype dtype) const {
    out.push_back(array(name, view, dtype));
  }
  void operator()(const CausalConv1dMetadata& conv1d) const { append_conv1d(conv1d, out); }
};

}  // namespace

std::vector<NamedArray> named_arrays(const MambaMetadata& metadata) {
  std::vector<NamedArray> out;
  for_each_mamba_field(metadata, Lister{out}, Lister{out});
  return out;
}

std::vector<NamedArray> named_arrays(const Mamba2Metadata& metadata) {
  std::vector<NamedArray> out;
  for_each_mamba2_field(metadata, Lister{out}, Lister{out});
  return out;
}

std::vector<NamedArray> named_arrays(const GdnMetadata& metadata) {
  std::vector<NamedArray> out;
  for_each_gdn_field(metadata, Lister{out}, Lister{out});
  return out;
}

}  // namespace hybridscope
