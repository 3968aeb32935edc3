// The releases of vLLM whose behaviour is modelled: each is a set of policy values (semantics:
// releases), some of which settings override. Nothing outside this table asks for a release by
// name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/policy_set.h"
#include "core/base/release.h"
#include "core/engine/engine_config.h"

namespace hybridscope {

// What the release does with the runner.
PolicySet release_policies(Release release, ModelRunner runner);

// Single policy values that override a profile.

// One value of one policy: an enum names its policy, PolicyValue(NullRows::run).
struct PolicyValue {
  std::size_t place = PolicySet::kCapacity;  // of the policy in a PolicySet; kCapacity: no policy
  std::uint8_t value = 0;                    // of its enum

  constexpr PolicyValue() = default;
  template <IsPolicy Value>
  constexpr PolicyValue(Value of_enum)
      : place(kPolicyPlace<Value>), value(static_cast<std::uint8_t>(of_enum)) {}

  bool operator==(const PolicyValue&) const = default;
};

// By the policy's place in a PolicySet; empty: the profile decides.
struct PolicyOverrides {
  std::array<std::optional<std::uint8_t>, PolicySet::kCapacity> values = {};

  constexpr PolicyOverrides() = default;
  // {RowClassing::by_shape, NullRows::run}: the enums name the policies.
  constexpr PolicyOverrides(std::initializer_list<PolicyValue> set_values) {
    for (const PolicyValue& value : set_values) values[value.place] = value.value;
  }

  void set(const PolicyValue& value) { values[value.place] = value.value; }
  friend bool operator==(const PolicyOverrides&, const PolicyOverrides&) = default;
};

// Overwrites `policies` with the values of `changes`.
void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes);

}  // namespace hybridscope
