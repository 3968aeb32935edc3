// The policy of the choice of a CUDA graph. The values are in the order of the releases.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// V2: for which sizes are graphs of uniform decodes captured, and in which order does a batch look
// at the graphs? (semantics: cudagraph-dispatch-v2)
enum class DecodeGraphs : std::uint8_t {
  rounded_list,          // the whole list is rounded to K + 1; the smallest size is taken
  each_size_rounded,     // 0.25.0: other batches keep the list as it is; the smallest of all sizes
  full_before_piecewise  // 0.29.0: the smallest full graph, then the smallest piecewise one
};
template <>
struct PolicyOf<DecodeGraphs> : PolicyAt<DecodeGraphs::rounded_list, 69> {};

}  // namespace hybridscope
