#include "core/metadata/builder_metadata.h"

#include <numeric>
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

namespace {

using Lengths = std::vector<std::int32_t>;
using Computed = std::span<const std::int32_t>;

// Row `index` of packed rows; -1: the offsets do not have it.
std::int32_t length_at(const TensorView<std::int32_t>& starts, std::int32_t index) {
  return starts.present && index >= 0 && index + 1 < starts.rows
             ? starts.at(index + 1) - starts.at(index)
             : -1;
}

bool sums_up(const Lengths& lengths, std::int32_t tokens) {
  return std::accumulate(lengths.begin(), lengths.end(), 0) == tokens;
}

bool tell_lengths(const MambaMetadata& m, Computed computed, Lengths& lengths) {
  for (std::size_t r = 0; r < computed.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    const bool decodes = row < m.num_decodes;
    std::int32_t length = decodes ? length_at(m.query_start_loc_d, row)
                                  : length_at(m.query_start_loc_p, row - m.num_decodes);
    if (decodes && !m.query_start_loc_d.present) length = 1;
    const bool agrees = m.seq_lens.present && row < m.seq_lens.rows && length > 0 &&
                        m.seq_lens.at(row) == computed[r] + length;
    if (!agrees) return false;
    lengths.push_back(length);
  }
  // Padding counts as decode tokens.
  const std::int32_t tokens = m.num_decode_tokens + m.num_prefill_tokens;
  return m.num_prefills == 0 || sums_up(lengths, tokens);
}

bool tell_lengths(const Mamba2Metadata& m, Computed computed, Lengths& lengths) {
  return tell_lengths(m.base, computed, lengths);
}

bool tell_lengths(const GdnMetadata& m, Computed computed, Lengths& lengths) {
  const auto num_rows = static_cast<std::int32_t>(computed.size());
  const bool all_spec = m.num_prefills == 0 && m.num_spec_decodes > 0;
  const bool has_masks = m.spec_sequence_masks.present && m.spec_sequence_masks.rows >= num_rows;
  if (!all_spec && m.num_spec_decodes > 0 && !has_masks) return false;
  std::int32_t spec = 0;
  std::int32_t others = 0;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const bool is_spec =
        all_spec || (has_masks && m.num_spec_decodes > 0 && m.spec_sequence_masks.at(row) != 0);
    lengths.push_back(is_spec ? length_at(m.spec_query_start_loc, spec++)
                              : length_at(m.non_spec_query_start_loc, others++));
    if (lengths.back() <= 0) return false;
  }
  const std::int32_t tokens = m.num_prefill_tokens + m.num_decode_tokens + m.num_spec_decode_tokens;
  return sums_up(lengths, tokens);
}

}  // namespace

bool tell_row_lengths(const BuilderMetadata& metadata,
                      std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  lengths.clear();
  return std::visit(
      [&](const auto& own) { return tell_lengths(own, num_computed_tokens, lengths); }, metadata);
}

}  // namespace hybridscope
