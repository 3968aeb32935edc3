#include "sessions/scenario/hf_config_reader.h"

#include <cmath>
#include <limits>

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kCountText = "a whole number from 1 to 2147483647";

// The number, if it is whole and within [least, 2^31-1]. JSON numbers beyond 64 bits are parsed as
// floating point and refused as such.
std::optional<std::int64_t> whole_number_from(const nlohmann::json& value, std::int64_t least) {
  if (!value.is_number_integer()) return {};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{kMaxNumber})
    return {};
  const auto number = value.get<std::int64_t>();
  if (number < least || number > kMaxNumber) return {};
  return number;
}

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace

HfConfigReader::HfConfigReader(const nlohmann::json& object, std::string where)
    : object_(&object), where_(std::move(where)) {}

bool HfConfigReader::has(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

bool HfConfigReader::is_text(const char* key, std::string_view text) const {
  return has(key) && object_->at(key).is_string() &&
         object_->at(key).get_ref<const std::string&>() == text;
}

bool HfConfigReader::is_number(const char* key, std::int64_t number) const {
  return has(key) && object_->at(key).is_number_integer() && object_->at(key) == number;
}

std::string HfConfigReader::wrong(const char* key, std::string_view expected) const {
  const auto found = object_->find(key);
  const std::string what = found == object_->end() ? " is missing" : ": found " + shown(*found);
  return "key \"" + std::string(key) + "\"" + what + ", expected " + std::string(expected);
}

void HfConfigReader::fail(const std::string& message) {
  if (!error_) error_ = invalid_input(where_ + ": " + message);
}

void HfConfigReader::adopt(const Error& error) {
  if (!error_) error_ = error;
}

const nlohmann::json* HfConfigReader::find(const char* key, std::string_view expected) {
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  fail(wrong(key, expected));
  return nullptr;
}

std::int64_t HfConfigReader::count(const char* key) {
  const nlohmann::json* value = find(key, kCountText);
  if (value == nullptr) return 1;
  if (const auto number = whole_number_from(*value, 1)) return *number;
  fail(wrong(key, kCountText));
  return 1;
}

std::int64_t HfConfigReader::count_or(const char* key, std::int64_t absent) {
  return has(key) ? count(key) : absent;
}

bool HfConfigReader::flag_or(const char* key, bool absent) {
  if (!has(key)) return absent;
  const nlohmann::json& value = object_->at(key);
  if (value.is_boolean()) return value.get<bool>();
  fail(wrong(key, "true or false"));
  return absent;
}

double HfConfigReader::real_or(const char* key, double absent) {
  if (!has(key)) return absent;
  const nlohmann::json& value = object_->at(key);
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  fail(wrong(key, "a number"));
  return absent;
}

std::int64_t HfConfigReader::count_of_any(std::initializer_list<const char*> keys) {
  std::string names;
  for (const char* key : keys) {
    if (has(key)) return count(key);
    names += (names.empty() ? "\"" : "\" or \"") + std::string(key);
  }
  fail("key " + names + "\" is missing, expected " + std::string(kCountText));
  return 1;
}

std::string HfConfigReader::text(const char* key) {
  const nlohmann::json* value = find(key, "a string");
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  fail(wrong(key, "a string"));
  return {};
}

std::vector<std::string> HfConfigReader::texts(const char* key) {
  constexpr std::string_view kExpected = "a list of strings";
  const nlohmann::json* value = find(key, kExpected);
  if (value == nullptr) return {};
  std::vector<std::string> result;
  bool good = value->is_array();
  for (std::size_t i = 0; good && i < value->size(); ++i) {
    good = (*value)[i].is_string();
    if (good) result.push_back((*value)[i].get<std::string>());
  }
  if (good) return result;
  fail(wrong(key, kExpected));
  return {};
}

std::vector<std::int64_t> HfConfigReader::numbers(const char* key) {
  constexpr std::string_view kExpected = "a list of whole numbers from 0 to 2147483647";
  const nlohmann::json* value = find(key, kExpected);
  if (value == nullptr) return {};
  std::vector<std::int64_t> result;
  bool good = value->is_array();
  for (std::size_t i = 0; good && i < value->size(); ++i) {
    const auto number = whole_number_from((*value)[i], 0);
    good = number.has_value();
    if (good) result.push_back(*number);
  }
  if (good) return result;
  fail(wrong(key, kExpected));
  return {};
}

std::vector<std::int64_t> HfConfigReader::numbers_or(const char* key,
                                                     std::vector<std::int64_t> absent) {
  return has(key) ? numbers(key) : absent;
}

std::vector<double> HfConfigReader::reals_or(const char* key, std::vector<double> absent) {
  if (!has(key)) return absent;
  const nlohmann::json& value = object_->at(key);
  std::vector<double> result;
  bool good = value.is_array();
  for (std::size_t i = 0; good && i < value.size(); ++i) {
    good = value[i].is_number() && std::isfinite(value[i].get<double>());
    if (good) result.push_back(value[i].get<double>());
  }
  if (good) return result;
  fail(wrong(key, "a list of numbers"));
  return absent;
}

Result<HfConfigReader> HfConfigReader::object(const char* key) const {
  const auto found = object_->find(key);
  if (found == object_->end() || !found->is_object())
    return invalid_input(where_ + ": " + wrong(key, "an object"));
  return HfConfigReader(*found, where_ + ": " + key);
}

}  // namespace hybridscope
