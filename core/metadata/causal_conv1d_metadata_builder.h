// Computes which program of the varlen causal conv kernel works on which row and token block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/causal_conv1d_metadata.h"

namespace hybridscope {

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
