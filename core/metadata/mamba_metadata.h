// What the Mamba1 builder hands to the layers. Names, shapes and dtypes are those of the
// reference's metadata class; an absent view is its None.
#pragma once

#include <cstdint>

#include "core/base/tensor_view.h"
#include "core/metadata/causal_conv1d_metadata.h"

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
};

}  // namespace hybridscope
