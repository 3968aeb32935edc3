// The policy of the sizes of CUDA graphs. The values are in the order of the releases.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Which sizes does the default list hold besides round numbers of tokens? (semantics:
// capture-sizes)
enum class CaptureList : std::uint8_t {
  round_token_counts,
  decode_batches_too,  // 0.29.0: with drafts, K + 1 times each round number of rows
  full_batch_too,      // 0.31.0: without drafts, max_num_seqs
};
template <>
struct PolicyOf<CaptureList> : PolicyAt<CaptureList::round_token_counts, 68> {};

}  // namespace hybridscope
