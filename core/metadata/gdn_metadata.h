// What the GDN builder hands to the layers. Names, shapes and dtypes are those of the reference's
// metadata class; an absent view is its None.
#pragma once

#include <cstdint>

#include "core/base/tensor_view.h"
#include "core/metadata/causal_conv1d_metadata.h"

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
};

}  // namespace hybridscope
