// What the GDN builder hands to the layers. Names, shapes and dtypes are those of the reference's
// metadata class; an absent view is its None.
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

// Chunk size of the FLA kernels (FLA_CHUNK_SIZE).
inline constexpr std::int32_t kFlaChunkSize = 64;

// dtype of the token index arrays of one GDN batch in the reference.
enum class TokenIndxDtype : std::uint8_t { int32, int64 };

// Metadata of one step for GatedDeltaNet (and KDA) layers of one KV-cache group: spec rows verify
// draft tokens, non-spec rows are decodes or prefills.
struct GdnMetadata {
  std::int32_t num_prefills = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_decodes = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_spec_decodes = 0;
  std::int32_t num_spec_decode_tokens = 0;
  std::int32_t num_actual_tokens = 0;
  TensorView<std::uint8_t> has_initial_state{};              // bool [non-spec rows]
  TensorView<std::int32_t> spec_query_start_loc{};           // [num_spec_decodes + 1]
  TensorView<std::int32_t> non_spec_query_start_loc{};       // [non-spec rows + 1]
  TensorView<std::int32_t> spec_state_indices_tensor{};      // [num_spec_decodes, 1 + K]
  TensorView<std::int32_t> non_spec_state_indices_tensor{};  // [non-spec rows]
  TensorView<std::uint8_t> spec_sequence_masks{};            // bool [num_reqs]
  TensorView<std::int32_t> spec_token_indx{};                // [spec tokens]
  TensorView<std::int32_t> non_spec_token_indx{};            // [non-spec tokens]
  TokenIndxDtype token_indx_dtype = TokenIndxDtype::int32;   // int64 in a mixed batch
  TensorView<std::int32_t> num_accepted_tokens{};            // [num_spec_decodes]
  TensorView<std::int32_t> chunk_indices{};                  // [chunks, 2]
  TensorView<std::int32_t> chunk_offsets{};                  // [non-spec rows + 1], int64
  CausalConv1dMetadata conv1d{};                             // of the non-spec rows

  // GdnBatch: the non-spec rows without decodes, which then run by themselves; the chunks are
  // those of these rows.
  TensorView<std::int32_t> prefill_query_start_loc{};    // [rows + 1], from 0
  TensorView<std::int32_t> prefill_state_indices{};      // [rows]
  TensorView<std::uint8_t> prefill_has_initial_state{};  // bool [rows]
  std::int32_t uniform_spec_sequence_length = -1;        // of every spec row; -1: they differ
  CheckpointMetadata checkpoint{};                       // of the non-spec rows
};

// As for MambaMetadata. token_indx_dtype is shown as the dtype of spec_token_indx, before it.
template <class Metadata, class Visit>
requires std::same_as<std::remove_const_t<Metadata>, GdnMetadata>
void for_each_field(Metadata& m, Visit&& visit) {
  using enum ArrayDtype;
  using enum ArrayRows;
  using enum ArrayElements;
  visit({"num_prefills", host_int}, m.num_prefills);
  visit({"num_prefill_tokens", host_int}, m.num_prefill_tokens);
  visit({"num_decodes", host_int}, m.num_decodes);
  visit({"num_decode_tokens", host_int}, m.num_decode_tokens);
  visit({"num_spec_decodes", host_int}, m.num_spec_decodes);
  visit({"num_spec_decode_tokens", host_int}, m.num_spec_decode_tokens);
  visit({"num_actual_tokens", host_int}, m.num_actual_tokens);
  visit({"has_initial_state", boolean, non_spec}, m.has_initial_state);
  visit({"spec_query_start_loc", int32, spec, row_starts}, m.spec_query_start_loc);
  visit({"non_spec_query_start_loc", int32, non_spec, row_starts}, m.non_spec_query_start_loc);
  visit({"spec_state_indices_tensor", int32, spec, block_ids}, m.spec_state_indices_tensor);
  visit({"non_spec_state_indices_tensor", int32, non_spec, block_ids},
        m.non_spec_state_indices_tensor);
  visit({"spec_sequence_masks", boolean, batch}, m.spec_sequence_masks);
  visit({"spec_token_indx", int32}, m.token_indx_dtype);
  const ArrayDtype indx = m.token_indx_dtype == TokenIndxDtype::int64 ? int64 : int32;
  visit({"spec_token_indx", indx, none, token_indices}, m.spec_token_indx);
  visit({"non_spec_token_indx", indx, none, token_indices}, m.non_spec_token_indx);
  visit({"num_accepted_tokens", int32, spec, accepted_counts}, m.num_accepted_tokens);
  visit({.name = "chunk_indices", .dtype = int32, .cols = 2}, m.chunk_indices);
  visit({"chunk_offsets", int64, non_spec}, m.chunk_offsets);
  visit({"nums_dict", int32, non_spec}, m.conv1d);
  visit({.name = "prefill_query_start_loc", .listed_if_present = true}, m.prefill_query_start_loc);
  visit({.name = "prefill_state_indices", .elements = block_ids, .listed_if_present = true},
        m.prefill_state_indices);
  visit({.name = "prefill_has_initial_state", .dtype = boolean, .listed_if_present = true},
        m.prefill_has_initial_state);
  visit({.name = "uniform_spec_sequence_length", .dtype = host_int, .listed_if_present = true},
        m.uniform_spec_sequence_length);
  visit({.name = "checkpoint.checkpoint_offsets", .rows = non_spec, .listed_if_present = true},
        m.checkpoint.checkpoint_offsets);
  visit({.name = "checkpoint.state_indices",
         .rows = non_spec,
         .elements = block_ids,
         .listed_if_present = true},
        m.checkpoint.state_indices);
}

// GdnTokenPartition::unstable: in a mixed batch, the first two tokens of the first spec row that
// has two change places. The array is the builder's: `storage` keeps the changed copy and must
// outlive `m`.
void swap_gathered_tokens(GdnMetadata& m, std::vector<std::int32_t>& storage);

// Called by the functions of builder_metadata.h.
void append_needed_arrays(const GdnMetadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out);
void append_state_accesses(const GdnMetadata& m, const ForwardContext& context,
                           std::vector<StateAccess>& out);
void append_mismatches(const GdnMetadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out);
bool refreshes_persistent_buffers(const GdnMetadata& m, std::int32_t num_spec);
inline std::optional<MetadataMismatch> wrong_row_count(const GdnMetadata& /*m*/,
                                                       std::int32_t /*num_reqs*/) {
  return std::nullopt;  // rows of three kinds: no array tells which count is wrong
}
inline bool has_num_rows(const GdnMetadata& m, std::int32_t num_rows) {
  const std::int32_t verifying = m.spec_state_indices_tensor.rows;
  return (m.num_spec_decodes > 0 ? verifying : m.num_decodes) == num_rows ||
         m.num_spec_decodes == num_rows;
}
MetadataRows metadata_rows(const GdnMetadata& m, std::int32_t num_rows);
ChunkView chunk_view(const GdnMetadata& m, std::int32_t num_rows);
bool tell_row_lengths(const GdnMetadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths);

}  // namespace hybridscope
