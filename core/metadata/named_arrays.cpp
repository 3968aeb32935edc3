#include "core/metadata/named_arrays.h"

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

NamedArray int32_array(std::string_view name, const TensorView<std::int32_t>& view) {
  return array(name, view, ArrayDtype::int32);
}

NamedArray bool_array(std::string_view name, const TensorView<std::uint8_t>& view) {
  return array(name, view, ArrayDtype::boolean);
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
    out.push_back(int32_array("nums_dict.8.nums", conv1d.nums));
    out.push_back(number("nums_dict.8.tot", conv1d.tot));
    out.push_back(array("nums_dict.8.mlist", conv1d.mlist(), ArrayDtype::int64));
    out.push_back(number("nums_dict.8.mlist_len", conv1d.tot));
    out.push_back(int32_array("nums_dict.8.offsetlist", conv1d.offsetlist()));
  }
  out.push_back(pointer_array("batch_ptr", conv1d.batch_ptr));
  out.push_back(pointer_array("token_chunk_offset_ptr", conv1d.token_chunk_offset_ptr));
}

}  // namespace

std::vector<NamedArray> named_arrays(const MambaMetadata& m) {
  std::vector<NamedArray> out{
      number("num_prefills", m.num_prefills),
      number("num_prefill_tokens", m.num_prefill_tokens),
      number("num_decodes", m.num_decodes),
      number("num_decode_tokens", m.num_decode_tokens),
      number("num_reqs", m.num_reqs),
      bool_array("has_initial_states_p", m.has_initial_states_p),
      int32_array("query_start_loc_p", m.query_start_loc_p),
      int32_array("num_computed_tokens_p", m.num_computed_tokens_p),
      int32_array("state_indices_tensor_p", m.state_indices_tensor_p),
      int32_array("state_indices_tensor_d", m.state_indices_tensor_d),
      int32_array("query_start_loc_d", m.query_start_loc_d),
      int32_array("num_accepted_tokens", m.num_accepted_tokens),
      int32_array("block_idx_last_scheduled_token", m.block_idx_last_scheduled_token),
      int32_array("block_idx_first_scheduled_token_p", m.block_idx_first_scheduled_token_p),
      int32_array("block_idx_last_computed_token", m.block_idx_last_computed_token),
      int32_array("seq_lens", m.seq_lens)};
  append_conv1d(m.conv1d, out);
  return out;
}

std::vector<NamedArray> named_arrays(const Mamba2Metadata& m) {
  std::vector<NamedArray> out = named_arrays(m.base);
  out.push_back(number("prep_initial_states", m.prep_initial_states, ArrayDtype::host_bool));
  out.push_back(number("chunk_size", m.chunk_size));
  out.push_back(int32_array("seq_idx_p", m.seq_idx_p));
  out.push_back(int32_array("cu_chunk_seqlen_p", m.cu_chunk_seqlen_p));
  out.push_back(int32_array("last_chunk_indices_p", m.last_chunk_indices_p));
  return out;
}

std::vector<NamedArray> named_arrays(const GdnMetadata& m) {
  const ArrayDtype indx =
      m.token_indx_dtype == TokenIndxDtype::int64 ? ArrayDtype::int64 : ArrayDtype::int32;
  std::vector<NamedArray> out{
      number("num_prefills", m.num_prefills),
      number("num_prefill_tokens", m.num_prefill_tokens),
      number("num_decodes", m.num_decodes),
      number("num_decode_tokens", m.num_decode_tokens),
      number("num_spec_decodes", m.num_spec_decodes),
      number("num_spec_decode_tokens", m.num_spec_decode_tokens),
      number("num_actual_tokens", m.num_actual_tokens),
      bool_array("has_initial_state", m.has_initial_state),
      int32_array("spec_query_start_loc", m.spec_query_start_loc),
      int32_array("non_spec_query_start_loc", m.non_spec_query_start_loc),
      int32_array("spec_state_indices_tensor", m.spec_state_indices_tensor),
      int32_array("non_spec_state_indices_tensor", m.non_spec_state_indices_tensor),
      bool_array("spec_sequence_masks", m.spec_sequence_masks),
      array("spec_token_indx", m.spec_token_indx, indx),
      array("non_spec_token_indx", m.non_spec_token_indx, indx),
      int32_array("num_accepted_tokens", m.num_accepted_tokens),
      int32_array("chunk_indices", m.chunk_indices),
      array("chunk_offsets", m.chunk_offsets, ArrayDtype::int64)};
  append_conv1d(m.conv1d, out);
  return out;
}

}  // namespace hybridscope
