#include "core/engine/policy_table.h"

#include <bit>

namespace hybridscope {
namespace {

using PolicyBytes = std::array<std::uint8_t, kNumPolicies>;

template <class Owner>
constexpr Owner& part_of(Policies& policies) {
  if constexpr (std::is_same_v<Owner, CachePolicies>)
    return policies.cache;
  else
    return policies;
}

// The byte of Policies that changes with this policy.
template <class Owner, class Value>
constexpr std::size_t place_of(const PolicyRow<Owner, Value>& row) {
  Policies changed;
  part_of<Owner>(changed).*row.member = static_cast<Value>(0xff);
  const auto bytes = std::bit_cast<PolicyBytes>(changed);
  std::size_t place = 0;
  while (bytes[place] != 0xff) ++place;
  return place;
}

template <class Owner, class Value>
constexpr Policy policy_of(const PolicyRow<Owner, Value>& row) {
  static_assert(sizeof(Value) == 1, "an enum of std::uint8_t");
  return {.text = PolicyText(row.words),
          .safe = static_cast<std::uint8_t>(Owner{}.*row.member),
          .reference = static_cast<std::uint8_t>(row.reference),
          .caching = std::is_same_v<Owner, CachePolicies>,
          .place = place_of(row)};
}

constexpr std::size_t count_rows() {
  std::size_t count = 0;
  for_each_policy([&count](const auto&) { ++count; });
  return count;
}
static_assert(count_rows() == kNumPolicies, "one row for each member of Policies");

constexpr auto make_table() {
  std::array<Policy, kNumPolicies> table;
  std::size_t index = 0;
  for_each_policy([&](const auto& row) { table[index++] = policy_of(row); });
  return table;
}

constexpr std::array<Policy, kNumPolicies> kTable = make_table();

constexpr bool has_two_rows_of_one_member() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kTable[i].place == kTable[j].place) return true;
  return false;
}
static_assert(!has_two_rows_of_one_member());

}  // namespace

std::span<const Policy, kNumPolicies> policy_table() { return kTable; }

std::string_view policy_name(const PolicyValue& value) { return kTable[value.policy].text.name; }

std::string_view value_name(const PolicyValue& value) {
  return kTable[value.policy].text.values[value.value];
}

Policies reference_policies() {
  PolicyBytes bytes = {};
  for (const Policy& policy : kTable) bytes[policy.place] = policy.reference;
  return std::bit_cast<Policies>(bytes);
}

void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes) {
  for (std::size_t i = 0; i < kNumPolicies; ++i)
    if (changes.values[i]) policies.values[i] = changes.values[i];
}

Policies with_overrides(const Policies& policies, const PolicyOverrides& overrides) {
  auto bytes = std::bit_cast<PolicyBytes>(policies);
  for (std::size_t i = 0; i < kNumPolicies; ++i)
    if (overrides.values[i]) bytes[kTable[i].place] = *overrides.values[i];
  return std::bit_cast<Policies>(bytes);
}

PolicyOverrides overrides_of(const Policies& policies) {
  const auto bytes = std::bit_cast<PolicyBytes>(policies);
  PolicyOverrides overrides;
  for (std::size_t i = 0; i < kNumPolicies; ++i) overrides.values[i] = bytes[kTable[i].place];
  return overrides;
}

}  // namespace hybridscope
