// Typed reading of a document parsed by simdjson: a line of a trace, the plan of a session. Like
// sessions/text/object_reader.h: a value knows its place, and the first error is kept.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/text/object_reader.h"

namespace hybridscope {

// Created on the stack during descent; the pointer text is built only for an error.
struct LineValue {
  simdjson::dom::element element;
  const LineValue* parent = nullptr;  // must outlive this one
  std::string_view key{};             // when in an object
  std::int64_t index = -1;            // when in an array

  std::string pointer() const;
};

// "\"text\"", "null", "-5", "an array": for messages.
std::string describe(const simdjson::dom::element& element);
void fail(const LineValue& value, const std::string& message, JsonErrors& errors);
// "expected EXPECTED, found VALUE".
void fail_type(const LineValue& value, std::string_view expected, JsonErrors& errors);

// Empty when the member is absent or `object` is not an object. Of duplicate keys the first one
// counts.
std::optional<LineValue> find_member(const LineValue& object, std::string_view key);
// Reports an error when the member is absent.
std::optional<LineValue> require_member(const LineValue& object, std::string_view key,
                                        JsonErrors& errors);

// The readers below report to `errors` and return an empty or smallest value after an error.
std::int64_t integer_of(const LineValue& value, const IntegerRange& range, JsonErrors& errors);
std::int32_t int32_of(const LineValue& value, const IntegerRange& range, JsonErrors& errors);
bool boolean_of(const LineValue& value, JsonErrors& errors);
std::string_view string_of(const LineValue& value, JsonErrors& errors);
// The index of the string in `choices`.
std::size_t choice_of(const LineValue& value, std::span<const std::string_view> choices,
                      JsonErrors& errors);
// Appends the elements of an array of integers.
void append_integers(const LineValue& value, const IntegerRange& range,
                     std::vector<std::int32_t>& out, JsonErrors& errors);
// The number of elements of an array.
std::size_t count_of(const LineValue& value, JsonErrors& errors);

// Calls visit(LineValue) for each element, until an error is reported.
template <class Visit>
void for_each_element(const LineValue& value, JsonErrors& errors, Visit visit) {
  simdjson::dom::array array;
  if (value.element.get(array) != simdjson::SUCCESS) return fail_type(value, "an array", errors);
  std::int64_t index = 0;
  for (const simdjson::dom::element element : array) {
    if (errors.failed()) return;
    visit(LineValue{.element = element, .parent = &value, .index = index++});
  }
}

// Calls visit(LineValue) for each member, until an error is reported; the value's key is the
// member's name.
template <class Visit>
void for_each_member(const LineValue& value, JsonErrors& errors, Visit visit) {
  simdjson::dom::object object;
  if (value.element.get(object) != simdjson::SUCCESS) return fail_type(value, "an object", errors);
  for (const simdjson::dom::key_value_pair member : object) {
    if (errors.failed()) return;
    visit(LineValue{.element = member.value, .parent = &value, .key = member.key});
  }
}

}  // namespace hybridscope
