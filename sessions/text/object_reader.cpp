#include "sessions/text/object_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/edit_distance.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

// Makes ASCII letters small and leaves all others as they are.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

void JsonErrors::fail(const std::string& pointer, const std::string& message) {
  if (error_) return;
  const std::string shown = one_line(base_ + pointer);
  error_ = invalid_input(shown.empty() ? fmt::format("{}: {}", file_, message)
                                       : fmt::format("{}: {}: {}", file_, shown, message));
}

std::string child_pointer(const std::string& pointer, std::string_view key) {
  std::string child = pointer + '/';
  for (const char c : key) {
    if (c == '~')
      child += "~0";
    else if (c == '/')
      child += "~1";
    else
      child += c;
  }
  return child;
}

std::string child_pointer(const std::string& pointer, std::size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

std::string quoted_text(std::string_view text) { return '"' + one_line(text, 60) + '"'; }

std::string describe_json(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return fmt::format("an array of {}", value.size());
    case nlohmann::json::value_t::string:
      return quoted_text(value.get_ref<const std::string&>());
    default:
      return value.dump();
  }
}

std::string nearest_key_hint(std::string_view key,
                             const std::vector<std::string_view>& known_keys) {
  const std::string typed = lower_case(key);
  std::string_view nearest;
  std::size_t distance = std::max<std::size_t>(2, key.size() / 3) + 1;
  for (const std::string_view known : known_keys) {
    if (key.size() > 2 * known.size() + 2) continue;
    const std::string there = lower_case(known);
    const bool prefix = !key.empty() && (there.starts_with(typed) || typed.starts_with(there));
    const std::size_t d = there == typed ? 0 : prefix ? 1 : edit_distance(typed, there);
    if (d < distance && d < known.size()) {
      distance = d;
      nearest = known;
    }
  }
  return nearest.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", nearest);
}

std::optional<std::int64_t> whole_number(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const auto number = value.get<double>();
  if (std::trunc(number) != number || number < -kTwoTo63 || number >= kTwoTo63) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::int64_t read_integer(const JsonPlace& place, const IntegerRange& range, JsonErrors& errors) {
  const std::optional<std::int64_t> number = whole_number(*place.value);
  if (number && *number >= range.min && *number <= range.max) return *number;
  errors.fail(place.pointer, fmt::format("expected an integer from {} to {}, found {}", range.min,
                                         range.max, describe_json(*place.value)));
  return range.min;
}

std::string read_string(const JsonPlace& place, JsonErrors& errors) {
  if (place.value->is_string()) return place.value->get<std::string>();
  errors.fail(place.pointer,
              fmt::format("expected a string, found {}", describe_json(*place.value)));
  return {};
}

std::string read_name(const JsonPlace& place, JsonErrors& errors) {
  constexpr std::size_t kMaxName = 64;
  std::string name = read_string(place, errors);
  if (name.empty() || name.size() > kMaxName)
    errors.fail(place.pointer,
                fmt::format("expected 1 to {} bytes, found {}", kMaxName, name.size()));
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20)
      errors.fail(place.pointer, "a control character in a name (expected printable text)");
  return name;
}

bool read_boolean(const JsonPlace& place, JsonErrors& errors) {
  if (place.value->is_boolean()) return place.value->get<bool>();
  errors.fail(place.pointer,
              fmt::format("expected true or false, found {}", describe_json(*place.value)));
  return false;
}

std::vector<JsonPlace> read_array(const JsonPlace& place, JsonErrors& errors) {
  std::vector<JsonPlace> elements;
  if (!place.value->is_array()) {
    errors.fail(place.pointer,
                fmt::format("expected an array, found {}", describe_json(*place.value)));
    return elements;
  }
  elements.reserve(place.value->size());
  for (std::size_t i = 0; i < place.value->size(); ++i)
    elements.push_back({&(*place.value)[i], child_pointer(place.pointer, i)});
  return elements;
}

std::vector<JsonMember> read_members(const JsonPlace& place, JsonErrors& errors) {
  std::vector<JsonMember> members;
  if (!place.value->is_object()) {
    errors.fail(place.pointer,
                fmt::format("expected an object, found {}", describe_json(*place.value)));
    return members;
  }
  for (auto member = place.value->begin(); member != place.value->end(); ++member)
    members.push_back({member.key(), {&*member, child_pointer(place.pointer, member.key())}});
  return members;
}

ObjectReader::ObjectReader(JsonPlace place, std::initializer_list<std::string_view> known_keys,
                           JsonErrors& errors)
    : ObjectReader(std::move(place), std::vector<std::string_view>(known_keys), errors) {}

ObjectReader::ObjectReader(JsonPlace place, const std::vector<std::string_view>& known_keys,
                           JsonErrors& errors)
    : place_(std::move(place)), errors_(&errors) {
  for (const JsonMember& member : read_members(place_, errors)) {
    if (std::find(known_keys.begin(), known_keys.end(), member.key) != known_keys.end()) continue;
    errors.fail(member.place.pointer, fmt::format("unknown key {}{}", quoted_text(member.key),
                                                  nearest_key_hint(member.key, known_keys)));
  }
}

std::optional<JsonPlace> ObjectReader::find(std::string_view key) const {
  if (!place_.value->is_object()) return std::nullopt;
  const auto member = place_.value->find(std::string(key));
  if (member == place_.value->end()) return std::nullopt;
  return JsonPlace{&*member, child_pointer(place_.pointer, key)};
}

std::optional<JsonPlace> ObjectReader::require(std::string_view key) const {
  std::optional<JsonPlace> place = find(key);
  if (!place) errors_->fail(place_.pointer, fmt::format("key \"{}\" is missing", key));
  return place;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key,
                                                  const IntegerRange& range) const {
  const std::optional<JsonPlace> place = find(key);
  if (!place) return std::nullopt;
  return read_integer(*place, range, *errors_);
}

std::optional<std::string> ObjectReader::string(std::string_view key) const {
  const std::optional<JsonPlace> place = find(key);
  if (!place) return std::nullopt;
  return read_string(*place, *errors_);
}

}  // namespace hybridscope
