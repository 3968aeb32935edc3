// What the Mamba2 builder hands to the layers. Names, shapes and dtypes are those of the
// reference's metadata class; an absent view is its None.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/checkpoint_metadata.h"
#include "core/metadata/mamba_metadata.h"
#include "core/metadata/metadata_description.h"

namespace hybridscope {

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
MetadataRows metadata_rows(const Mamba2Metadata& m, std::int32_t num_rows);
ChunkView chunk_view(const Mamba2Metadata& m, std::int32_t num_rows);

}  // namespace hybridscope
