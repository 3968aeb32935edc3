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

// The words of a row as string views.
struct PolicyText {
  std::string_view name;
  std::array<std::string_view, 8> values;  // [enumerators]; empty after the last
  std::string_view help;

  constexpr PolicyText() = default;
  constexpr explicit PolicyText(const PolicyWords& words) : name(words.name), help(words.help) {
    for (std::size_t i = 0; i < values.size() && words.values[i] != nullptr; ++i)
      values[i] = words.values[i];
  }
  constexpr std::span<const std::string_view> value_names() const {
    std::size_t count = 0;
    while (count < values.size() && !values[count].empty()) ++count;
    return std::span(values).first(count);
  }
};

struct Policy {
  PolicyText text;
  std::uint8_t safe = 0;  // value of its enum, in each profile
  std::uint8_t reference = 0;
  bool caching = false;   // a caching policy, which cannot change while an engine runs
  std::size_t place = 0;  // index of its byte in Policies
};

// In the order of for_each_policy, which is that of PolicyOverrides::values.
std::span<const Policy, kNumPolicies> policy_table();

std::string_view policy_name(const PolicyValue& value);  // "null_rows"
std::string_view value_name(const PolicyValue& value);   // "run"

}  // namespace hybridscope
