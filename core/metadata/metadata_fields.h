// The fields of each metadata class, once: name in the reference, member, dtype. In the order of
// the reference's class. Printing and reading metadata both walk this list.
#pragma once

#include <cstdint>

#include "core/metadata/builder_metadata.h"
#include "core/metadata/named_arrays.h"

namespace hybridscope {

// Calls visit(name, member, dtype) for every field, and visit_conv1d(member) for the conv arrays.
// `Metadata` may be const.
template <class Metadata, class Visit, class VisitConv1d>
void for_each_mamba_field(Metadata& m, Visit&& visit, VisitConv1d&& visit_conv1d) {
  visit("num_prefills", m.num_prefills, ArrayDtype::host_int);
  visit("num_prefill_tokens", m.num_prefill_tokens, ArrayDtype::host_int);
  visit("num_decodes", m.num_decodes, ArrayDtype::host_int);
  visit("num_decode_tokens", m.num_decode_tokens, ArrayDtype::host_int);
  visit("num_reqs", m.num_reqs, ArrayDtype::host_int);
  visit("has_initial_states_p", m.has_initial_states_p, ArrayDtype::boolean);
  visit("query_start_loc_p", m.query_start_loc_p, ArrayDtype::int32);
  visit("num_computed_tokens_p", m.num_computed_tokens_p, ArrayDtype::int32);
  visit("state_indices_tensor_p", m.state_indices_tensor_p, ArrayDtype::int32);
  visit("state_indices_tensor_d", m.state_indices_tensor_d, ArrayDtype::int32);
  visit("query_start_loc_d", m.query_start_loc_d, ArrayDtype::int32);
  visit("num_accepted_tokens", m.num_accepted_tokens, ArrayDtype::int32);
  visit("block_idx_last_scheduled_token", m.block_idx_last_scheduled_token, ArrayDtype::int32);
  visit("block_idx_first_scheduled_token_p", m.block_idx_first_scheduled_token_p,
        ArrayDtype::int32);
  visit("block_idx_last_computed_token", m.block_idx_last_computed_token, ArrayDtype::int32);
  visit("seq_lens", m.seq_lens, ArrayDtype::int32);
  visit_conv1d(m.conv1d);
}

template <class Metadata, class Visit, class VisitConv1d>
void for_each_mamba2_field(Metadata& m, Visit&& visit, VisitConv1d&& visit_conv1d) {
  for_each_mamba_field(m.base, visit, visit_conv1d);
  visit("prep_initial_states", m.prep_initial_states, ArrayDtype::host_bool);
  visit("chunk_size", m.chunk_size, ArrayDtype::host_int);
  visit("seq_idx_p", m.seq_idx_p, ArrayDtype::int32);
  visit("cu_chunk_seqlen_p", m.cu_chunk_seqlen_p, ArrayDtype::int32);
  visit("last_chunk_indices_p", m.last_chunk_indices_p, ArrayDtype::int32);
}

template <class Metadata, class Visit, class VisitConv1d>
void for_each_gdn_field(Metadata& m, Visit&& visit, VisitConv1d&& visit_conv1d) {
  const ArrayDtype indx =
      m.token_indx_dtype == TokenIndxDtype::int64 ? ArrayDtype::int64 : ArrayDtype::int32;
  visit("num_prefills", m.num_prefills, ArrayDtype::host_int);
  visit("num_prefill_tokens", m.num_prefill_tokens, ArrayDtype::host_int);
  visit("num_decodes", m.num_decodes, ArrayDtype::host_int);
  visit("num_decode_tokens", m.num_decode_tokens, ArrayDtype::host_int);
  visit("num_spec_decodes", m.num_spec_decodes, ArrayDtype::host_int);
  visit("num_spec_decode_tokens", m.num_spec_decode_tokens, ArrayDtype::host_int);
  visit("num_actual_tokens", m.num_actual_tokens, ArrayDtype::host_int);
  visit("has_initial_state", m.has_initial_state, ArrayDtype::boolean);
  visit("spec_query_start_loc", m.spec_query_start_loc, ArrayDtype::int32);
  visit("non_spec_query_start_loc", m.non_spec_query_start_loc, ArrayDtype::int32);
  visit("spec_state_indices_tensor", m.spec_state_indices_tensor, ArrayDtype::int32);
  visit("non_spec_state_indices_tensor", m.non_spec_state_indices_tensor, ArrayDtype::int32);
  visit("spec_sequence_masks", m.spec_sequence_masks, ArrayDtype::boolean);
  visit("spec_token_indx", m.spec_token_indx, indx);
  visit("non_spec_token_indx", m.non_spec_token_indx, indx);
  visit("num_accepted_tokens", m.num_accepted_tokens, ArrayDtype::int32);
  visit("chunk_indices", m.chunk_indices, ArrayDtype::int32);
  visit("chunk_offsets", m.chunk_offsets, ArrayDtype::int64);
  visit_conv1d(m.conv1d);
}

}  // namespace hybridscope
