#include "core/metadata/builder_metadata.h"

#include <utility>

namespace hybridscope {
namespace {

template <std::size_t... kKinds>
std::vector<BuilderMetadata> one_of_each(std::index_sequence<kKinds...>) {
  return {BuilderMetadata(std::in_place_index<kKinds>)...};
}

struct ConvSetter {
  void operator()(const MetadataField&, CausalConv1dMetadata& conv1d) const {
    conv1d.present = true;
  }
  template <class T>
  void operator()(const MetadataField&, T&) const {}
};

}  // namespace

std::vector<BuilderMetadata> every_kind_of_metadata() {
  return one_of_each(std::make_index_sequence<std::variant_size_v<BuilderMetadata>>());
}

void set_conv1d_present(BuilderMetadata& metadata) { for_each_field(metadata, ConvSetter{}); }

void swap_gathered_tokens(BuilderMetadata& metadata, std::vector<std::int32_t>& storage) {
  std::visit(
      [&](auto& own) {
        if constexpr (requires { swap_gathered_tokens(own, storage); })
          swap_gathered_tokens(own, storage);
      },
      metadata);
}

void append_needed_arrays(const BuilderMetadata& metadata, const ForwardContext& context,
                          std::vector<NeededArray>& out) {
  std::visit([&](const auto& own) { append_needed_arrays(own, context, out); }, metadata);
}

void append_state_accesses(const BuilderMetadata& metadata, const ForwardContext& context,
                           std::vector<StateAccess>& out) {
  std::visit([&](const auto& own) { append_state_accesses(own, context, out); }, metadata);
}

void append_mismatches(const BuilderMetadata& metadata, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out) {
  std::visit([&](const auto& own) { append_mismatches(own, batch, out); }, metadata);
}

bool refreshes_persistent_buffers(const BuilderMetadata& metadata, std::int32_t num_spec) {
  return std::visit([&](const auto& own) { return refreshes_persistent_buffers(own, num_spec); },
                    metadata);
}

std::optional<MetadataMismatch> wrong_row_count(const BuilderMetadata& metadata,
                                                std::int32_t num_reqs) {
  return std::visit([&](const auto& own) { return wrong_row_count(own, num_reqs); }, metadata);
}

bool has_num_rows(const BuilderMetadata& metadata, std::int32_t num_rows) {
  return std::visit([&](const auto& own) { return has_num_rows(own, num_rows); }, metadata);
}

MetadataRows metadata_rows(const BuilderMetadata& metadata, std::int32_t num_rows) {
  return std::visit([&](const auto& own) { return metadata_rows(own, num_rows); }, metadata);
}

ChunkView chunk_view(const BuilderMetadata& metadata, std::int32_t num_rows) {
  return std::visit([&](const auto& own) { return chunk_view(own, num_rows); }, metadata);
}

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

bool tell_row_lengths(const BuilderMetadata& metadata,
                      std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  lengths.clear();
  return std::visit(
      [&](const auto& own) { return tell_row_lengths(own, num_computed_tokens, lengths); },
      metadata);
}

}  // namespace hybridscope
