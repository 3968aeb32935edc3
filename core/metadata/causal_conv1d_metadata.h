// Which program of the varlen causal conv kernel works on which row and token block
// (semantics: compute-causal-conv1d-metadata; BLOCK_M 8 only).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

inline constexpr std::int32_t kCausalConv1dBlockM = 8;

// Views of arrays that a CausalConv1dMetadataBuilder owns. absent: the reference's None for
// nums_dict, batch_ptr and token_chunk_offset_ptr.
struct CausalConv1dMetadata {
  bool present = false;
  std::int32_t tot = 0;                               // programs; also mlist_len
  TensorView<std::int32_t> nums{};                    // [rows] programs a row
  TensorView<std::int32_t> batch_ptr{};               // [2 * max(1024, tot)], -1 from tot on
  TensorView<std::int32_t> token_chunk_offset_ptr{};  // [2 * max(1024, tot)], -1 from tot on

  // int64 in the reference.
  TensorView<std::int32_t> mlist() const { return vector_view(batch_ptr.data, tot); }
  TensorView<std::int32_t> offsetlist() const {
    return vector_view(token_chunk_offset_ptr.data, tot);
  }
};

// Owns the two pointer arrays. A call costs time for the programs of this and the previous call,
// not for the arrays' length. Results are valid until the next call.
class CausalConv1dMetadataBuilder {
 public:
  // query_start_loc: int32 [rows + 1]. Errors: empty array, a row of -8 tokens or less.
  Result<CausalConv1dMetadata> compute(std::span<const std::int32_t> query_start_loc);

 private:
  void clear_and_reserve(std::int32_t tot);

  std::vector<std::int32_t> nums_;
  std::vector<std::int32_t> batch_ptr_;               // -1 from dirty_ on
  std::vector<std::int32_t> token_chunk_offset_ptr_;  // -1 from dirty_ on
  std::int32_t dirty_ = 0;
};

}  // namespace hybridscope
