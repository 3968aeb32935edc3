#include "sessions/matrix/fault_cause.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {
namespace {

PolicyValue value_at(std::size_t place, std::uint8_t value) {
  PolicyValue one;
  one.place = place;
  one.value = value;
  return one;
}

// "row_order=query_len".
Result<PolicyValue> parse_policy_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  for (const Policy& policy : policy_table()) {
    const PolicyText& words = policy.text;
    if (words.name != text.substr(0, equals)) continue;
    const auto names = words.value_names();
    const auto found = std::ranges::find(names, text.substr(equals + 1));
    if (found != names.end())
      return value_at(policy.place, static_cast<std::uint8_t>(found - names.begin()));
  }
  return invalid_input(fmt::format("there is no policy with this value: {}", text));
}

Status set_values(std::string_view part, PolicyOverrides& policies) {
  if (part.find('=') != std::string_view::npos) {
    const auto value = parse_policy_value(part);
    if (!value.ok()) return value.error();
    policies.set(value.value());
    return Ok{};
  }
  // Bugs that fit equally are the same policies.
  const auto bug = find_known_bug(part.substr(0, part.find(kCauseKeyOr)));
  if (!bug.ok()) return bug.error();
  for (const PolicyValue& value : bug.value()->values()) policies.set(value);
  return Ok{};
}

}  // namespace

Result<PolicyOverrides> policies_of_cause(std::string_view cause) {
  PolicyOverrides policies;
  while (true) {
    const std::size_t end = cause.find('+');
    if (Status set = set_values(cause.substr(0, end), policies); !set.ok()) return set.error();
    if (end == std::string_view::npos) return policies;
    cause.remove_prefix(end + 1);
  }
}

}  // namespace hybridscope
