// What both forms of the gated delta rule take of a layer. Only for delta_rule.cpp and
// delta_rule_chunked.cpp.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/numeric/delta_rule.h"

namespace hybridscope {

class DeltaRuleSizes {
 protected:
  static constexpr float kEpsilon = 1e-6F;  // of the norms of queries and keys

  explicit DeltaRuleSizes(const DeltaRuleLayer& layer)
      : Hk_(static_cast<std::size_t>(layer.num_key_heads)),
        Hv_(static_cast<std::size_t>(layer.num_value_heads)),
        Dk_(static_cast<std::size_t>(layer.key_dim)),
        Dv_(static_cast<std::size_t>(layer.value_dim)),
        scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.key_dim)))) {}

  std::size_t Hk_, Hv_, Dk_, Dv_;
  float scale_;  // of queries
};

}  // namespace hybridscope
