// Matches the elements of one list on both sides by key and compares their fields. Differences are
// appended to a list that the caller owns.
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

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "sessions/diff/field_difference.h"
#include "sessions/diff/ignore_rules.h"
#include "sessions/record/step_source.h"
#include "sessions/record/value_names.h"
#include "sessions/text/name_hash.h"

namespace hybridscope {

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
