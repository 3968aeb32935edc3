#include "sessions/startup/hf_reader.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kCountText = "a whole number from 1 to 2147483647";

// JSON numbers beyond 64 bits are parsed as floating point and refused as such.
bool is_count(const JsonValue& value, std::int64_t least) {
  const std::optional<std::int64_t> number = value.is_integer() ? value.whole() : std::nullopt;
  return number && *number >= least && *number <= kMaxNumber;
}

bool is_finite(const JsonValue& value) {
  return value.is_number() && std::isfinite(value.number());
}

// Are these elements of an array?
template <class Is>
bool are_all(const std::optional<JsonValue>& array, Is is) {
  if (!array || !array->is_array()) return false;
  for (const JsonValue& element : array->elements())
    if (!is(element)) return false;
  return true;
}

std::string shown(const JsonValue& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = value.json().dump(-1, ' ', true);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace

bool HfConfigReader::has(std::string_view key) const {
  const auto found = object_.find(key);
  return found && !found->is_null();
}

bool HfConfigReader::is_text(std::string_view key, std::string_view text) const {
  const auto found = object_.find(key);
  return found && found->is_string() && found->text() == text;
}

bool HfConfigReader::is_number(std::string_view key, std::int64_t number) const {
  const auto found = object_.find(key);
  return found && found->is_integer() && found->whole() == number;
}

void HfConfigReader::fail(const std::string& message) const {
  throw JsonFault("", path_ + message);
}

void HfConfigReader::fail_key(std::string_view key, std::string_view expected) const {
  const auto found = object_.find(key);
  const std::string what = found ? ": found " + shown(*found) : " is missing";
  fail("key \"" + std::string(key) + "\"" + what + ", expected " + std::string(expected));
}

std::int64_t HfConfigReader::count(std::string_view key) const {
  const auto value = object_.find(key);
  if (!value || !is_count(*value, 1)) fail_key(key, kCountText);
  return value->int64();
}

std::int64_t HfConfigReader::count_or(std::string_view key, std::int64_t absent) const {
  return has(key) ? count(key) : absent;
}

std::int64_t HfConfigReader::whole_or(std::string_view key, std::int64_t absent) const {
  if (!has(key)) return absent;
  const auto value = object_.find(key);
  if (!is_count(*value, 0)) fail_key(key, "a whole number from 0 to 2147483647");
  return value->int64();
}

bool HfConfigReader::flag_or(std::string_view key, bool absent) const {
  if (!has(key)) return absent;
  const auto value = object_.find(key);
  if (!value->is_boolean()) fail_key(key, "true or false");
  return value->boolean();
}

double HfConfigReader::real_or(std::string_view key, double absent) const {
  if (!has(key)) return absent;
  const auto value = object_.find(key);
  if (!is_finite(*value)) fail_key(key, "a number");
  return value->number();
}

std::int64_t HfConfigReader::count_of_any(std::initializer_list<std::string_view> keys) const {
  std::string names;
  for (const std::string_view key : keys) {
    if (has(key)) return count(key);
    names += (names.empty() ? "\"" : "\" or \"") + std::string(key);
  }
  fail("key " + names + "\" is missing, expected " + std::string(kCountText));
}

std::string HfConfigReader::text(std::string_view key) const {
  const auto value = object_.find(key);
  if (!value || !value->is_string()) fail_key(key, "a string");
  return value->string();
}

std::vector<std::string> HfConfigReader::texts(std::string_view key) const {
  const auto list = object_.find(key);
  if (!are_all(list, [](const JsonValue& text) { return text.is_string(); }))
    fail_key(key, "a list of strings");
  return list->strings();
}

std::vector<std::int64_t> HfConfigReader::numbers(std::string_view key) const {
  const auto list = object_.find(key);
  if (!are_all(list, [](const JsonValue& number) { return is_count(number, 0); }))
    fail_key(key, "a list of whole numbers from 0 to 2147483647");
  return list->int64s();
}

std::vector<std::int64_t> HfConfigReader::numbers_or(std::string_view key,
                                                     std::vector<std::int64_t> absent) const {
  return has(key) ? numbers(key) : absent;
}

std::vector<double> HfConfigReader::reals_or(std::string_view key,
                                             std::vector<double> absent) const {
  if (!has(key)) return absent;
  const auto list = object_.find(key);
  if (!are_all(list, is_finite)) fail_key(key, "a list of numbers");
  std::vector<double> numbers;
  list->each_element([&](const JsonValue& number) { numbers.push_back(number.number()); });
  return numbers;
}

HfConfigReader HfConfigReader::object(std::string_view key) const {
  const auto found = object_.find(key);
  if (!found || !found->is_object()) fail_key(key, "an object");
  return HfConfigReader(*found, path_ + std::string(key) + ": ");
}

}  // namespace hybridscope
