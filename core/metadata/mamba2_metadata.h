// What the Mamba2 builder hands to the layers. Names, shapes and dtypes are those of the
// reference's metadata class; an absent view is its None.
#pragma once

#include <cstdint>

#include "core/base/tensor_view.h"
#include "core/metadata/mamba_metadata.h"

namespace hybridscope {

// The same for Mamba2 layers, with the chunks of the SSD scan (SEMANTICS A7).
struct Mamba2Metadata {
  MambaMetadata base{};
  bool prep_initial_states = false;  // some prefill row starts from a stored state
  std::int32_t chunk_size = 0;
  TensorView<std::int32_t> seq_idx_p{};             // [chunks]
  TensorView<std::int32_t> cu_chunk_seqlen_p{};     // [chunks + 1]
  TensorView<std::int32_t> last_chunk_indices_p{};  // [num_prefills]
};

}  // namespace hybridscope
