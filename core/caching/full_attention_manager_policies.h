// The policy of the block lists of full-attention groups.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Can a hit end inside an attention block that is registered in the same step? Its copy comes
// before the step writes. (known bug 57; semantics: copy-on-write)
enum class SameStepTail : std::uint8_t {
  waits,   // until the step has written it
  copied,  // 0.26.0: with what the block held before
};
template <>
struct PolicyOf<SameStepTail> : PolicyAt<SameStepTail::waits, 9> {};

}  // namespace hybridscope
