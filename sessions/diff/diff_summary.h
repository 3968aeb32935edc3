// What the differences of two sessions add up to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/diff/field_difference.h"

namespace hybridscope {

struct DiffSummary {
  DiffSummary();
  void add(const std::vector<FieldDifference>& fields);

  std::int64_t num_steps_a = 0;
  std::int64_t num_steps_b = 0;
  std::int64_t last_step_a = 0;  // 0: no step
  std::int64_t last_step_b = 0;
  std::int64_t num_common = 0;     // steps that both have
  std::int64_t num_differing = 0;  // of them
  std::int64_t num_only_a = 0;     // steps that one side alone has, a tail included
  std::int64_t num_only_b = 0;
  std::int64_t num_differences = 0;  // steps that differ, steps on one side; a tail is one
  std::int64_t num_fields = 0;
  std::array<std::int64_t, kNumDiffSections> steps_by_section{};
  std::array<std::int64_t, kNumDiffSections> fields_by_section{};
  std::vector<std::vector<std::int64_t>> by_field;  // [kNumDiffLists][field_names]
  std::vector<std::int64_t> by_request;             // fields by number in RequestNumbers
  std::int64_t num_of_step = 0;                     // fields of no request
  // Steps whose metadata differs while block ids and places in the batch are the same.
  std::int64_t num_metadata_alone = 0;

  bool differs(DiffSection section) const {
    return fields_by_section[static_cast<std::size_t>(section)] > 0;
  }
  // Only places differ: block ids, rows, slots, and arrays that hold them. What the builders were
  // told (list `groups`) is a decision.
  bool same_decisions() const;
  // One sentence about what differs at all.
  std::string verdict() const;
};

struct FieldCount {
  std::string_view list{};
  std::string_view field{};
  std::int64_t count = 0;
};
// Fields that differ anywhere, the most frequent first.
std::vector<FieldCount> count_by_field(const DiffSummary& summary);

}  // namespace hybridscope
