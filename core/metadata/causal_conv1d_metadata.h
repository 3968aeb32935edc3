// Which program of the varlen causal conv kernel works on which row and token block
// (semantics: compute-causal-conv1d-metadata; BLOCK_M 8 only).
#pragma once

#include <cstdint>

#include "core/base/tensor_view.h"

namespace hybridscope {

inline constexpr std::int32_t kCausalConv1dBlockM = 8;

// Views of arrays that a CausalConv1dMetadataBuilder owns. absent: the reference's None for
// nums_dict, batch_ptr and token_chunk_offset_ptr.
struct CausalConv1dMetadata {
  bool present = false;
  std::int32_t tot = 0;                               // programs; also mlist_len
  TensorView<std::int32_t> nums{};                    // [rows] programs per row
  TensorView<std::int32_t> batch_ptr{};               // [2 * max(1024, tot)], -1 from tot on
  TensorView<std::int32_t> token_chunk_offset_ptr{};  // [2 * max(1024, tot)], -1 from tot on

  // int64 in the reference.
  TensorView<std::int32_t> mlist() const { return vector_view(batch_ptr.data, tot); }
  TensorView<std::int32_t> offsetlist() const {
    return vector_view(token_chunk_offset_ptr.data, tot);
  }
};

}  // namespace hybridscope
