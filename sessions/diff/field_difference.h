// One field in which a step of two sessions differs.
#pragma once

#include <cstdint>
#include <string_view>

#include "sessions/diff/diff_lists.h"
#include "sessions/diff/diff_value.h"

namespace hybridscope {

struct FieldDifference {
  DiffList list = DiffList::step;
  DiffSection section = DiffSection::schedule;
  std::int32_t request = -1;  // its number in RequestNumbers, -1: of the step as a whole
  // Which element of the request: -1 and empty where it needs no telling.
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::string_view part{};  // "pre_copies", "registered", the rule of a finding
  // Findings that one side alone has: the place in the record's list.
  std::int32_t place = -1;
  std::int32_t occurrence = 0;     // among elements that are told apart by nothing else
  std::uint32_t field_number = 0;  // index into field_names(list)
  std::string_view field{};
  DiffValue a;
  DiffValue b;
  // Arrays: the first element that differs and how many do; -1: shape or presence differs.
  std::int32_t index = -1;
  std::int32_t num_elements = 0;
};

}  // namespace hybridscope
