// Single policy values that override a profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "core/engine/policies.h"

namespace hybridscope {

// Every member of Policies is an enum of one byte.
inline constexpr std::size_t kNumPolicies = sizeof(Policies);

// Place of the policy with this enum in the list of for_each_policy.
template <class Value>
consteval std::size_t policy_index() {
  std::size_t index = 0;
  std::size_t found = kNumPolicies;
  for_each_policy([&](const auto& row) {
    if (std::is_same_v<decltype(row.reference), Value>) found = index;
    ++index;
  });
  if (found == kNumPolicies) throw "no policy has this enum";  // does not compile
  return found;
}

// One value of one policy: an enum names its policy, PolicyValue(NullRows::run).
struct PolicyValue {
  std::size_t policy = kNumPolicies;  // place in the list; kNumPolicies: no policy
  std::uint8_t value = 0;             // of its enum

  constexpr PolicyValue() = default;
  template <class Value>
  requires std::is_enum_v<Value>
  constexpr PolicyValue(Value of_enum)
      : policy(policy_index<Value>()), value(static_cast<std::uint8_t>(of_enum)) {}

  bool operator==(const PolicyValue&) const = default;
};

// By the place of a policy in the list; empty: the profile decides.
struct PolicyOverrides {
  std::array<std::optional<std::uint8_t>, kNumPolicies> values = {};

  constexpr PolicyOverrides() = default;
  // {RowClassing::by_shape, NullRows::run}: the enums name the policies.
  constexpr PolicyOverrides(std::initializer_list<PolicyValue> set_values) {
    for (const PolicyValue& value : set_values) values[value.policy] = value.value;
  }

  void set(const PolicyValue& value) { values[value.policy] = value.value; }
  friend bool operator==(const PolicyOverrides&, const PolicyOverrides&) = default;
};

// Overwrites `policies` with the values of `changes`.
void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes);

// The policies with these values set.
Policies with_overrides(const Policies& policies, const PolicyOverrides& overrides);

// Every policy, set one by one.
PolicyOverrides overrides_of(const Policies& policies);

// What cannot change while an engine runs stays as it was at the start: the caching policies, by
// which blocks have been cached, and the one by which blocks are laid out.
inline void keep_fixed_policies(Policies& policies, const Policies& at_start) {
  policies.cache = at_start.cache;
  policies.conv_state_sizing = at_start.conv_state_sizing;
}

}  // namespace hybridscope
