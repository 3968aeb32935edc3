#include "sessions/conformance/compare.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// Is the value a field, or an element inside a member "data"?
enum class Place { field, tensor_data };

std::optional<VectorDifference> differ(const std::string& pointer, std::string expected,
                                       std::string got) {
  return VectorDifference{
      .pointer = pointer, .expected = std::move(expected), .got = std::move(got)};
}

// Stricter than the library, which compares -1 and 18446744073709551615 as equal, and 1 and 1.0.
bool equal_values(const json& a, const json& b) {
  if (a.is_number_integer() && b.is_number_integer()) {
    if (a.is_number_unsigned() == b.is_number_unsigned()) return a == b;
    const json& with_sign = a.is_number_unsigned() ? b : a;
    return with_sign.get<std::int64_t>() >= 0 && a == b;
  }
  return a.type() == b.type() && a == b;
}

// Is it an element of a tensor, not a row of elements?
bool is_scalar(const json& value) {
  return value.is_number() || value.is_boolean() || value.is_null();
}

// For errors, only their occurrence has to match. A map may also have a key "error", but not with a
// string value.
bool is_error(const json& object) {
  const auto member = object.find("error");
  return member != object.end() && member->is_string();
}

std::optional<VectorDifference> compare(const json& expected, const json& got,
                                        const std::string& pointer, Place place);

std::optional<VectorDifference> compare_objects(const json& expected, const json& got,
                                                const std::string& pointer, Place place) {
  if (is_error(expected) && is_error(got)) return std::nullopt;
  if (is_error(got)) return differ(pointer, expected.dump(), got.dump());
  for (const auto& [key, value] : expected.items()) {
    const std::string child = child_pointer(pointer, key);
    const auto found = got.find(key);
    if (found == got.end()) return differ(child, value.dump(), "absent");
    const Place inside = key == "data" && value.is_array() ? Place::tensor_data : place;
    if (auto difference = compare(value, *found, child, inside)) return difference;
  }
  for (const auto& [key, value] : got.items())
    if (!expected.contains(key)) return differ(child_pointer(pointer, key), "absent", value.dump());
  return std::nullopt;
}

// A fast path for most elements: needs no JSON pointer.
bool equal_scalars(const json& expected, const json& got, Place place) {
  if (place == Place::tensor_data && expected.is_null()) return is_scalar(got);
  return expected.is_primitive() && equal_values(expected, got);
}

// "2 elements, [1] is 7" or "2 elements, [1] is absent".
std::string size_and_element(const json& array, std::size_t index) {
  return fmt::format("{} element{}, [{}] is {}", array.size(), array.size() == 1 ? "" : "s", index,
                     index < array.size() ? array[index].dump() : "absent");
}

// For arrays of different length: both lengths and the first element that differs.
std::optional<VectorDifference> differ_in_length(const json& expected, const json& got,
                                                 const std::string& pointer, Place place) {
  std::size_t first = 0;
  while (first < expected.size() && first < got.size() &&
         (equal_scalars(expected[first], got[first], place) ||
          !compare(expected[first], got[first], "", place)))
    ++first;
  return differ(pointer, size_and_element(expected, first), size_and_element(got, first));
}

std::optional<VectorDifference> compare_arrays(const json& expected, const json& got,
                                               const std::string& pointer, Place place) {
  if (expected.size() != got.size()) return differ_in_length(expected, got, pointer, place);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (equal_scalars(expected[i], got[i], place)) continue;
    if (auto difference = compare(expected[i], got[i], child_pointer(pointer, i), place))
      return difference;
  }
  return std::nullopt;
}

std::optional<VectorDifference> compare(const json& expected, const json& got,
                                        const std::string& pointer, Place place) {
  if (expected.is_object() && got.is_object())
    return compare_objects(expected, got, pointer, place);
  if (expected.is_array() && got.is_array()) return compare_arrays(expected, got, pointer, place);
  if (equal_values(expected, got)) return std::nullopt;
  return differ(pointer, expected.dump(), got.dump());
}

}  // namespace

std::optional<VectorDifference> first_difference(const json& expected, const json& got) {
  return compare(expected, got, "", Place::field);
}

}  // namespace hybridscope
