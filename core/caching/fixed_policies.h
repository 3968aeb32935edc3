// The policies that a cache was made with. They cannot change while an engine runs, so the cache,
// its parts and all copies of it share one set.
#pragma once

#include <memory>

#include "core/base/policy_set.h"

namespace hybridscope {

class FixedPolicies {
 public:
  FixedPolicies(const PolicySet& policies = {})
      : policies_(std::make_shared<const PolicySet>(policies)) {}

  const PolicySet& set() const { return *policies_; }

  template <IsPolicy Value>
  Value get() const {
    return policies_->get<Value>();
  }
  template <IsPolicy Value>
  bool is(Value value) const {
    return policies_->is(value);
  }

 private:
  std::shared_ptr<const PolicySet> policies_;
};

}  // namespace hybridscope
