// The fields in which the steps of two sessions differ, and the matching of a list's elements on
// both sides that finds them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "sessions/diff/diff_lists.h"
#include "sessions/record/step_record.h"
#include "sessions/record/value_names.h"
#include "sessions/text/name_hash.h"

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

// How two engines differ before their first step, and whether their steps can be compared.

struct ConfigDifference {
  std::string setting;  // path in the table of settings: "policies/aligned_split"
  std::string a;
  std::string b;
};

// In the order of the settings table, then the KV cache groups. A single entry "engine" replaces
// the policies when either side has all policies of a profile.
std::vector<ConfigDifference> compare_configs(const EngineConfig& a, const EngineConfig& b);

// Why the steps of the two engines cannot be compared, one sentence per reason; empty: they can.
std::vector<std::string> reasons_against_steps(const EngineConfig& a, const EngineConfig& b);

// Matches the elements of one list on both sides by key and compares their fields. Differences are
// appended to a list that the caller owns.

// Gives the requests of two sessions common numbers: equal names have equal numbers, independent of
// the sessions' ids.

class RequestNumbers {
 public:
  // Asks each source once per request; both must outlive this.
  RequestNumbers(const StepSource& a, const StepSource& b) : sources_{&a, &b} {}

  // `side`: 0 is a, 1 is b. Returns -1 for no request.
  std::int32_t number(int side, RequestId request);
  // Valid while this lives; empty for -1.
  std::string_view name(std::int32_t number) const {
    return number < 0 ? std::string_view() : names_[static_cast<std::size_t>(number)];
  }
  std::size_t size() const { return names_.size(); }

 private:
  const StepSource* sources_[2];
  std::vector<std::int32_t> numbers_[2];  // by id; -1: not asked for yet
  std::deque<std::string> names_;         // by number
  std::unordered_map<std::string_view, std::int32_t> by_name_;
};

// `number`: the value as an integer. Not for requests or texts.
template <class T>
DiffValue make_diff_value(std::int64_t number) {
  if constexpr (std::is_enum_v<T>)
    return {DiffValueKind::word, number, value_names::name(static_cast<T>(number))};
  else if constexpr (std::is_same_v<T, bool>)
    return {DiffValueKind::flag, number};
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return {DiffValueKind::hash, number};
  else
    return {DiffValueKind::number, number};
}

// One element of a list and its key: the request's number, then `more`.
struct ListElement {
  std::int32_t request = -1;
  std::uint64_t more = 0;
  const void* data = nullptr;
  std::int32_t row = -1;    // layout: row number
  std::int32_t block = -1;  // shown when only one side has the element
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t place = -1;  // findings: index in the record's list
  std::string_view part{};
  std::string_view detail{};
  // Events without a request, whose key is their number among those of their kind, from 1.
  std::int32_t number = 0;
  using Key = std::tuple<std::int32_t, std::uint64_t>;
  Key key() const { return {request, more}; }
};

// The element's data, for a list of T.
template <class T>
const T& as(const ListElement& element) {
  return *static_cast<const T*>(element.data);
}

class ElementMatcher {
 public:
  // Both must outlive this.
  ElementMatcher(RequestNumbers& names, const IgnoreRules& rules);

  void collect_into(std::vector<FieldDifference>& found) { found_ = &found; }
  const IgnoreRules& rules() const { return rules_; }

  // Hash of the compared fields, with requests as their numbers: equal for equal elements of both
  // sides.
  template <class Fields>
  std::uint64_t hash(int side, DiffList list, const Fields& fields) {
    Hash hash{*this, side, list};
    fields(hash);
    return hash.sum;
  }

  // Forgets the elements of the previous list.
  void begin();
  // Adds an element unless its request is ignored.
  void add(int side, RequestId request, ListElement element);

  // Compares the added elements. fields(visit, element) visits the fields of one element in the
  // order of field_names(list); pair(a, b) is called for each element that both sides have.
  template <class Fields>
  void compare(DiffList list, const Fields& fields) {
    match(list,
          [&](const ListElement& a, const ListElement& b) { compare_fields(list, a, b, fields); });
  }
  template <class Pair>
  void match(DiffList list, const Pair& pair);

  template <class Fields>
  void compare_fields(DiffList list, const ListElement& a, const ListElement& b,
                      const Fields& fields);

  // Appends a difference of this field for the caller to fill; null when the field is ignored.
  FieldDifference* differ(DiffList list, const ListElement& element, std::size_t field,
                          std::string_view name);

 private:
  static constexpr std::size_t kMaxFields = 24;

  // A field's value, with a request as its number.
  struct Raw {
    std::int64_t number = 0;
    std::string_view text{};
    friend bool operator==(const Raw&, const Raw&) = default;
  };
  template <class T>
  Raw raw(int side, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      return {names_.number(side, value)};
    else if constexpr (std::is_same_v<T, std::string_view>)
      return {0, value};
    else
      return {static_cast<std::int64_t>(value)};
  }
  template <class T>
  DiffValue value(const Raw& raw) const {
    if constexpr (std::is_same_v<T, RequestId>)
      return {DiffValueKind::word, raw.number,
              raw.number < 0 ? "none" : names_.name(static_cast<std::int32_t>(raw.number))};
    else if constexpr (std::is_same_v<T, std::string_view>)
      return {DiffValueKind::word, 0, raw.text};
    else
      return make_diff_value<T>(raw.number);
  }

  struct Hash {
    ElementMatcher& matcher;
    int side;
    DiffList list;
    std::size_t count = 0;
    std::uint64_t sum = 0;
    template <class T>
    void operator()(std::string_view, const T& field) {
      if (matcher.rules_.ignores_field(list, count++)) return;
      const Raw value = matcher.raw(side, field);
      sum = mix(sum, static_cast<std::uint64_t>(value.number));
      if (!value.text.empty()) sum = mix(sum, hash_name(NameKind::text, value.text));
    }
  };

  // Keeps the fields of side a, then compares those of side b with them.
  struct Keep {
    ElementMatcher& matcher;
    std::size_t count = 0;
    template <class T>
    void operator()(std::string_view, const T& field) {
      HS_EXPECT(count < kMaxFields);
      matcher.kept_[count++] = matcher.raw(0, field);
    }
  };
  struct Compare {
    ElementMatcher& matcher;
    DiffList list;
    const ListElement& element;
    std::size_t count = 0;
    template <class T>
    void operator()(std::string_view name, const T& field) {
      const Raw& a = matcher.kept_[count];
      const Raw b = matcher.raw(1, field);
      if (a != b)
        if (FieldDifference* difference = matcher.differ(list, element, count, name)) {
          difference->a = matcher.value<std::remove_cv_t<T>>(a);
          difference->b = matcher.value<std::remove_cv_t<T>>(b);
        }
      ++count;
    }
  };

  void report_one_sided(DiffList list, const ListElement& element, int side);
  void sort();
  // Counts one more element with this key, which is number i of A or j of B.
  void count_occurrence(std::size_t i, std::size_t j, const ListElement::Key& key);

  RequestNumbers& names_;
  const IgnoreRules& rules_;
  std::vector<FieldDifference>* found_ = nullptr;
  std::vector<ListElement> elements_[2];
  std::array<Raw, kMaxFields> kept_{};
  std::array<std::size_t, kNumDiffLists> present_{};  // index of the field kPresentField
  std::int32_t occurrence_ = 0;  // of the element that is compared; 0: its key is unique
};

template <class Pair>
void ElementMatcher::match(DiffList list, const Pair& pair) {
  sort();
  const auto& [a, b] = elements_;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool only_a = j == b.size() || (i < a.size() && a[i].key() < b[j].key());
    const bool only_b = !only_a && (i == a.size() || b[j].key() < a[i].key());
    count_occurrence(i, j, only_b ? b[j].key() : a[i].key());
    if (only_a)
      report_one_sided(list, a[i++], 0);
    else if (only_b)
      report_one_sided(list, b[j++], 1);
    else
      pair(a[i++], b[j++]);
  }
  occurrence_ = 0;
}

template <class Fields>
void ElementMatcher::compare_fields(DiffList list, const ListElement& a, const ListElement& b,
                                    const Fields& fields) {
  Keep keep{*this};
  fields(keep, a);
  Compare compare{*this, list, b};
  fields(compare, b);
}

}  // namespace hybridscope
