// Totals over the differences of two sessions.
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
  std::int64_t num_common = 0;     // steps that both sides have
  std::int64_t num_differing = 0;  // of the common steps
  std::int64_t num_only_a = 0;     // steps that only one side has, a tail included
  std::int64_t num_only_b = 0;
  // Steps that differ or are on one side only; a tail counts as one.
  std::int64_t num_differences = 0;
  std::int64_t num_fields = 0;
  std::array<std::int64_t, kNumDiffSections> steps_by_section{};
  std::array<std::int64_t, kNumDiffSections> fields_by_section{};
  std::vector<std::vector<std::int64_t>> by_field;  // [kNumDiffLists][field_names]
  std::vector<std::int64_t> by_request;             // differing fields, by number in RequestNumbers
  std::int64_t num_of_step = 0;                     // differing fields that belong to no request
  // Steps whose metadata differs although block ids and places in the batch are equal.
  std::int64_t num_metadata_alone = 0;

  bool differs(DiffSection section) const {
    return fields_by_section[static_cast<std::size_t>(section)] > 0;
  }
  // Do only places differ: block ids, rows, slots, and arrays that contain them? The builders'
  // inputs (list `groups`) count as decisions.
  bool same_decisions() const;
  // One sentence on what differs overall.
  std::string verdict() const;
};

struct FieldCount {
  std::string_view list{};
  std::string_view field{};
  std::int64_t count = 0;
};
// The fields that differ anywhere, most frequent first.
std::vector<FieldCount> count_by_field(const DiffSummary& summary);

}  // namespace hybridscope
