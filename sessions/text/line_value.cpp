#include "sessions/text/line_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hybridscope {

using simdjson::dom::element_type;

std::string LineValue::pointer() const {
  if (parent == nullptr) return {};
  if (index >= 0) return child_pointer(parent->pointer(), static_cast<std::size_t>(index));
  return child_pointer(parent->pointer(), key);
}

std::string describe(const simdjson::dom::element& element) {
  switch (element.type()) {
    case element_type::OBJECT:
      return "an object";
    case element_type::ARRAY:
      return fmt::format("an array of {}", simdjson::dom::array(element).size());
    case element_type::STRING:
      return quoted_text(std::string_view(element));
    default:
      return simdjson::minify(element);
  }
}

void fail(const LineValue& value, const std::string& message, JsonErrors& errors) {
  if (!errors.failed()) errors.fail(value.pointer(), message);
}

void fail_type(const LineValue& value, std::string_view expected, JsonErrors& errors) {
  if (!errors.failed())
    fail(value, fmt::format("expected {}, found {}", expected, describe(value.element)), errors);
}

std::optional<LineValue> find_member(const LineValue& object, std::string_view key) {
  simdjson::dom::element element;
  if (object.element.at_key(key).get(element) != simdjson::SUCCESS) return std::nullopt;
  return LineValue{.element = element, .parent = &object, .key = key};
}

std::optional<LineValue> require_member(const LineValue& object, std::string_view key,
                                        JsonErrors& errors) {
  const std::optional<LineValue> member = find_member(object, key);
  if (member) return member;
  if (!object.element.is_object())
    fail_type(object, "an object", errors);
  else
    fail(object, fmt::format("key \"{}\" is missing", key), errors);
  return std::nullopt;
}

std::int64_t integer_of(const LineValue& value, const IntegerRange& range, JsonErrors& errors) {
  std::int64_t number = 0;
  if (value.element.get(number) == simdjson::SUCCESS && number >= range.min && number <= range.max)
    return number;
  fail_type(value, fmt::format("an integer from {} to {}", range.min, range.max), errors);
  return range.min;
}

std::int32_t int32_of(const LineValue& value, const IntegerRange& range, JsonErrors& errors) {
  return static_cast<std::int32_t>(integer_of(value, range, errors));
}

bool boolean_of(const LineValue& value, JsonErrors& errors) {
  bool flag = false;
  if (value.element.get(flag) != simdjson::SUCCESS) fail_type(value, "true or false", errors);
  return flag;
}

std::string_view string_of(const LineValue& value, JsonErrors& errors) {
  std::string_view text;
  if (value.element.get(text) != simdjson::SUCCESS) fail_type(value, "a string", errors);
  return text;
}

std::size_t choice_of(const LineValue& value, std::span<const std::string_view> choices,
                      JsonErrors& errors) {
  std::string_view text;
  const bool is_string = value.element.get(text) == simdjson::SUCCESS;
  for (std::size_t i = 0; is_string && i < choices.size(); ++i)
    if (choices[i] == text) return i;
  const std::string hint =
      is_string ? nearest_key_hint(text, {choices.begin(), choices.end()}) : std::string();
  fail(value,
       fmt::format("expected one of {}, found {}{}", fmt::join(choices, ", "),
                   describe(value.element), hint),
       errors);
  return 0;
}

void append_integers(const LineValue& value, const IntegerRange& range,
                     std::vector<std::int32_t>& out, JsonErrors& errors) {
  simdjson::dom::array array;
  if (value.element.get(array) != simdjson::SUCCESS) return fail_type(value, "an array", errors);
  std::int64_t index = 0;
  for (const simdjson::dom::element element : array) {
    std::int64_t number = 0;
    if (element.get(number) != simdjson::SUCCESS || number < range.min || number > range.max) {
      const LineValue wrong{.element = element, .parent = &value, .index = index};
      return fail_type(wrong, fmt::format("an integer from {} to {}", range.min, range.max),
                       errors);
    }
    out.push_back(static_cast<std::int32_t>(number));
    ++index;
  }
}

std::size_t count_of(const LineValue& value, JsonErrors& errors) {
  std::size_t count = 0;
  for_each_element(value, errors, [&](const LineValue&) { ++count; });
  return count;
}

}  // namespace hybridscope
