// The list of policies as a table, for code that treats all alike: settings, schema, known bugs,
// comparisons. Made from the rows beside the enums (for_each_policy).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/engine/policy_overrides.h"

namespace hybridscope {

struct Policy {
  PolicyText text;
  std::uint8_t safe = 0;  // value of its enum, in each profile
  std::uint8_t pages = 0;
  bool caching = false;   // blocks are cached by it: it cannot change while an engine runs
  std::size_t place = 0;  // its byte in Policies
};

// In the order of for_each_policy, which is that of PolicyOverrides::values.
std::span<const Policy, kNumPolicies> policy_table();

std::string_view policy_name(const PolicyValue& value);  // "null_rows"
std::string_view value_name(const PolicyValue& value);   // "run"

}  // namespace hybridscope
