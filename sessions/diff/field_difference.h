// One field in which a step of two sessions differs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/diff/diff_lists.h"

namespace hybridscope {

// One side's value of a field that differs. Small; owns no memory.

enum class DiffValueKind : std::uint8_t {
  absent,  // this side lacks the element
  number,
  flag,   // 0 or 1
  block,  // an element that is present, shown by its block
  hash,   // 64 bits, shown in hexadecimal
  shape,  // of an array: rows << 32 | cols, see array_shape_value
  none,   // an array that the layers were not given
  word,   // an enum's name, a request's name or a literal
};

struct DiffValue {
  DiffValueKind kind = DiffValueKind::absent;
  std::int64_t number = 0;  // word: the enum's code
  std::string_view word{};  // must outlive the comparison; shape: the dtype, where dtypes differ

  // The value as reports show it: "-", "12", "yes", "block 3", "0x00c0ffee00c0ffee", "[3, 2]",
  // "[3] int64", "None", "decode".
  std::string text() const;
  friend bool operator==(const DiffValue&, const DiffValue&) = default;
};

struct FieldDifference {
  DiffList list = DiffList::step;
  DiffSection section = DiffSection::schedule;
  std::int32_t request = -1;  // number in RequestNumbers; -1: the step as a whole
  // The element within the request; -1 and empty when there is only one.
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::string_view part{};  // "pre_copies", "registered", the rule of a finding
  std::string_view
      detail{};  // what the part leaves open: "conv" of a finding, "at commit" of an event
  // Findings that only one side has: index in the record's list.
  std::int32_t place = -1;
  // Counts the elements that nothing else distinguishes, from 1 in the order of the record; 0: the
  // only one.
  std::int32_t occurrence = 0;
  std::uint32_t field_number = 0;  // index into field_names(list)
  std::string_view field{};
  DiffValue a;
  DiffValue b;
  // Arrays: the first element that differs and the number of elements that differ; -1: shape or
  // presence differs.
  std::int32_t index = -1;
  std::int32_t num_elements = 0;
  std::int32_t num_columns = 0;  // 0: of an array with one dimension, or of a plain number
};

// The shape of an array with `dims` 0 (a plain number), 1 ([rows]) or 2 ([rows, cols]). `dtype`:
// shown behind it, empty where both sides have the same.
DiffValue array_shape_value(std::int32_t dims, std::int32_t rows, std::int32_t cols,
                            std::string_view dtype);

// The element within the request as reports name it: "post_copies, group 1, column 2", "freed,
// group 1, no. 3", "group 1, element [2, 0], 5 differ"; empty when there is only one.
std::string place_text(const FieldDifference& difference);

// Totals over the differences of two sessions.

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
