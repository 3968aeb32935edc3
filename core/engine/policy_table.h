// The policies as a table, for code that treats all alike: settings, schema, known bugs,
// comparisons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/policy_set.h"
#include "core/engine/releases.h"

namespace hybridscope {

struct PolicyText {
  std::string_view name = {};                   // the enum's, in snake_case
  std::array<std::string_view, 8> values = {};  // [enumerators]; empty after the last
  std::string_view help = {};                   // what it decides, a phrase
  bool symbolic_state_only = false;  // kernels that keep state in bytes have the safe value only

  constexpr std::span<const std::string_view> value_names() const {
    std::size_t count = 0;
    while (count < values.size() && !values[count].empty()) ++count;
    return std::span(values).first(count);
  }
};

// May the policy change while an engine runs?
enum class PolicyChange : std::uint8_t {
  between_steps,
  not_caching,  // no: blocks have been cached by it
  not_sizing,   // no: blocks are laid out by it
};

struct Policy {
  PolicyText text;
  std::uint8_t safe = 0;  // value of its enum, in each profile
  std::uint8_t reference = 0;
  PolicyChange change = PolicyChange::between_steps;
  std::size_t place = 0;  // in PolicySet and PolicyOverrides

  bool is_caching() const { return change == PolicyChange::not_caching; }
  std::uint8_t value_in(const PolicySet& policies) const {
    return policies.difference(place) ^ safe;
  }
  void set_value(PolicySet& policies, std::uint8_t value) const {
    policies.set_difference(place, value ^ safe);
  }
};

// In the order in which documents list them.
std::span<const Policy> policy_table();

// The policy with this place. Requires: there is one.
const Policy& policy_at(std::size_t place);

std::string_view policy_name(const PolicyValue& value);  // "null_rows"
std::string_view value_name(const PolicyValue& value);   // "run"

// Profile `reference`: what the reference does; the reference vectors are made with it.
PolicySet reference_policies();

// The policies with these values set.
PolicySet with_overrides(const PolicySet& policies, const PolicyOverrides& overrides);

// Every policy, set one by one.
PolicyOverrides overrides_of(const PolicySet& policies);

// Gives the caching policies the values of `at_start`.
void keep_caching_policies(PolicySet& policies, const PolicySet& at_start);
// Gives all policies that cannot change while an engine runs the values of `at_start`.
void keep_fixed_policies(PolicySet& policies, const PolicySet& at_start);

}  // namespace hybridscope
