// What the Mamba1 and Mamba2 builders hand to the layers. Names, shapes and dtypes are those of the
// reference's metadata class; an absent view is its None.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/metadata_description.h"

namespace hybridscope {

// Metadata of one step for the Mamba1 layers of one KV-cache group. _d: decode rows, _p: prefill
// rows. In the CUDA graph branch the decode arrays are views of the builder's persistent buffers.
struct MambaMetadata {
  std::int32_t num_prefills = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_decodes = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_reqs = 0;
  TensorView<std::uint8_t> has_initial_states_p{};    // bool [num_prefills]
  TensorView<std::int32_t> query_start_loc_p{};       // [num_prefills + 1], from 0
  TensorView<std::int32_t> num_computed_tokens_p{};   // [num_prefills], all mode
  TensorView<std::int32_t> state_indices_tensor_p{};  // [num_prefills]; all: [.., columns]
  TensorView<std::int32_t> state_indices_tensor_d{};  // [num_decodes, 1 + K]; all: [.., columns]
  TensorView<std::int32_t> query_start_loc_d{};       // [num_decodes + 1], K > 0
  TensorView<std::int32_t> num_accepted_tokens{};     // [num_decodes] if K > 0, else as given
  TensorView<std::int32_t> block_idx_last_scheduled_token{};     // all: [num_reqs]; graph branch:
  TensorView<std::int32_t> block_idx_last_computed_token{};      //   [num_decode_tokens]
  TensorView<std::int32_t> block_idx_first_scheduled_token_p{};  // all: [num_prefills]
  TensorView<std::int32_t> seq_lens{};                           // [num_reqs]
  CausalConv1dMetadata conv1d{};                                 // of the prefill rows

  // AllModeArrays, mode all. -1: not counted. Blocks that prefill rows fill and store a state in.
  std::int32_t num_state_writes_p = -1;
  // The Mamba1 builder cuts prompts into chunks of a block, as Mamba2Metadata has them.
  TensorView<std::int32_t> cu_chunk_seqlen_p{};     // [chunks + 1]
  TensorView<std::int32_t> last_chunk_indices_p{};  // [num_prefills]
};

// Calls visit(MetadataField, member) for the fields that Mamba2 has as well, in the order of the
// reference's class.
template <class Metadata, class Visit>
void for_each_mamba_field(Metadata& m, Visit&& visit) {
  using enum ArrayDtype;
  using enum ArrayRows;
  using enum ArrayElements;
  visit({"num_prefills", host_int}, m.num_prefills);
  visit({"num_prefill_tokens", host_int}, m.num_prefill_tokens);
  visit({"num_decodes", host_int}, m.num_decodes);
  visit({"num_decode_tokens", host_int}, m.num_decode_tokens);
  visit({"num_reqs", host_int}, m.num_reqs);
  visit({"has_initial_states_p", boolean, prefills}, m.has_initial_states_p);
  visit({"query_start_loc_p", int32, prefills, row_starts}, m.query_start_loc_p);
  visit({"num_computed_tokens_p", int32, prefills}, m.num_computed_tokens_p);
  visit({"state_indices_tensor_p", int32, prefills, block_ids}, m.state_indices_tensor_p);
  visit({"state_indices_tensor_d", int32, decodes, block_ids}, m.state_indices_tensor_d);
  visit({"query_start_loc_d", int32, decodes, row_starts}, m.query_start_loc_d);
  visit({"num_accepted_tokens", int32, decodes, accepted_counts}, m.num_accepted_tokens);
  visit({"block_idx_last_scheduled_token", int32, batch, block_columns},
        m.block_idx_last_scheduled_token);
  visit({"block_idx_first_scheduled_token_p", int32, prefills, block_columns},
        m.block_idx_first_scheduled_token_p);
  visit({"block_idx_last_computed_token", int32, batch, block_columns},
        m.block_idx_last_computed_token);
  visit({"seq_lens", int32, batch, sequence_lengths}, m.seq_lens);
  visit({"nums_dict", int32, prefills}, m.conv1d);
  visit({.name = "num_state_writes_p", .dtype = host_int, .listed_if_present = true},
        m.num_state_writes_p);
}

// Calls visit(MetadataField, member) for every field, those that only Mamba1 has too.
template <class Metadata, class Visit>
requires std::same_as<std::remove_const_t<Metadata>, MambaMetadata>
void for_each_field(Metadata& m, Visit&& visit) {
  for_each_mamba_field(m, visit);
  visit({.name = "cu_chunk_seqlen_p", .listed_if_present = true}, m.cu_chunk_seqlen_p);
  visit({.name = "last_chunk_indices_p", .rows = ArrayRows::prefills, .listed_if_present = true},
        m.last_chunk_indices_p);
}

// Called by the functions of builder_metadata.h.
void append_needed_arrays(const MambaMetadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out);
void append_state_accesses(const MambaMetadata& m, const ForwardContext& context,
                           std::vector<StateAccess>& out);
void append_mismatches(const MambaMetadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out);
bool refreshes_persistent_buffers(const MambaMetadata& m, std::int32_t num_spec);
// If the counts do not add up to num_reqs, the one that the prefill rows' arrays do not have.
std::optional<MetadataMismatch> wrong_row_count(const MambaMetadata& m, std::int32_t num_reqs);
bool has_num_rows(const MambaMetadata& m, std::int32_t num_rows);
MetadataRows metadata_rows(const MambaMetadata& m, std::int32_t num_rows);
ChunkView chunk_view(const MambaMetadata& m, std::int32_t num_rows);
bool tell_row_lengths(const MambaMetadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths);

// The offsets of the prefill rows only; the array may be longer.
TensorView<std::int32_t> prefill_starts(const MambaMetadata& m);

struct BatchMismatches;
// append_mismatches, for Mamba2 as well. True: the prefill rows follow the decode rows, so that
// their chunks can be checked.
bool append_mamba_mismatches(const MambaMetadata& m, BatchMismatches& check);

// Metadata of one step for Mamba2 layers: that of Mamba1 plus the chunks of the SSD scan
// (semantics: compute-chunk-metadata).
struct Mamba2Metadata {
  MambaMetadata base{};
  bool prep_initial_states = false;  // some prefill row starts from a stored state
  std::int32_t chunk_size = 0;
  TensorView<std::int32_t> seq_idx_p{};             // [chunks]
  TensorView<std::int32_t> cu_chunk_seqlen_p{};     // [chunks + 1]
  TensorView<std::int32_t> last_chunk_indices_p{};  // [num_prefills]
  TensorView<std::int32_t> checkpoint_chunk_idx{};  // [num_prefills] chunk that ends on it; 0: none
  CheckpointMetadata checkpoint_meta{};             // of the prefill rows
};

// As for MambaMetadata, whose fields come first.
template <class Metadata, class Visit>
requires std::same_as<std::remove_const_t<Metadata>, Mamba2Metadata>
void for_each_field(Metadata& m, Visit&& visit) {
  using enum ArrayDtype;
  for_each_mamba_field(m.base, visit);
  visit({"prep_initial_states", host_bool}, m.prep_initial_states);
  visit({.name = "chunk_size", .dtype = host_int, .min = 1}, m.chunk_size);
  visit({"seq_idx_p", int32}, m.seq_idx_p);
  visit({"cu_chunk_seqlen_p", int32}, m.cu_chunk_seqlen_p);
  visit({"last_chunk_indices_p", int32, ArrayRows::prefills}, m.last_chunk_indices_p);
  visit({.name = "checkpoint_chunk_idx",
         .dtype = int64,
         .rows = ArrayRows::prefills,
         .listed_if_present = true},
        m.checkpoint_chunk_idx);
  visit({.name = "checkpoint_meta.checkpoint_offsets",
         .rows = ArrayRows::prefills,
         .listed_if_present = true},
        m.checkpoint_meta.checkpoint_offsets);
  visit({.name = "checkpoint_meta.state_indices",
         .rows = ArrayRows::prefills,
         .elements = ArrayElements::block_ids,
         .listed_if_present = true},
        m.checkpoint_meta.state_indices);
}

// Called by the functions of builder_metadata.h.
void append_needed_arrays(const Mamba2Metadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out);
void append_state_accesses(const Mamba2Metadata& m, const ForwardContext& context,
                           std::vector<StateAccess>& out);
void append_mismatches(const Mamba2Metadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out);
bool refreshes_persistent_buffers(const Mamba2Metadata& m, std::int32_t num_spec);
std::optional<MetadataMismatch> wrong_row_count(const Mamba2Metadata& m, std::int32_t num_reqs);
bool has_num_rows(const Mamba2Metadata& m, std::int32_t num_rows);
MetadataRows metadata_rows(const Mamba2Metadata& m, std::int32_t num_rows);
ChunkView chunk_view(const Mamba2Metadata& m, std::int32_t num_rows);
bool tell_row_lengths(const Mamba2Metadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths);

}  // namespace hybridscope
