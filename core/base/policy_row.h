// A row of a list of policies. The lists stand beside the enums (cache_policies.h, policies.h,
// kernel_policies.h) as functions `for_each_..._policy(visit)`, which cost nothing where nobody
// visits them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace hybridscope {

// In the order of the enum; the places behind the last value are empty.
using PolicyValueNames = std::array<std::string_view, 4>;

// How scenarios and the command line call a policy.
struct PolicyText {
  std::string_view name;    // that of the member
  PolicyValueNames values;  // those of the enumerators
  std::string_view help;    // what it decides, half a sentence

  constexpr std::span<const std::string_view> value_names() const {
    std::size_t count = 0;
    while (count < values.size() && !values[count].empty()) ++count;
    return std::span(values).first(count);
  }
};

// The safe value is the member's initialiser.
template <class Owner, class Value>
struct PolicyRow {
  // Profile pages does what safe does.
  constexpr PolicyRow(Value Owner::*the_member, PolicyText the_text)
      : PolicyRow(the_member, the_text, Owner{}.*the_member) {}
  constexpr PolicyRow(Value Owner::*the_member, PolicyText the_text, Value in_pages)
      : member(the_member), text(the_text), pages(in_pages) {}

  Value Owner::*member;
  PolicyText text;
  Value pages;  // in profile pages
};

}  // namespace hybridscope
