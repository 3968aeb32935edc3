#include "sessions/text/json_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace hybridscope {
namespace {

using Json = nlohmann::json;

// What simdjson's element consists of. A value behind another one has a larger index.
struct TapePlace {
  const void* document;
  std::size_t index;
};
static_assert(sizeof(TapePlace) == sizeof(simdjson::dom::element));

TapePlace place_of(const simdjson::dom::element& element) {
  return std::bit_cast<TapePlace>(element);
}

// The way from `json` to `value` inside it; empty: it is not there.
std::optional<std::string> way_to(const Json& json, const Json* value) {
  if (&json == value) return std::string();
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i)
      if (const auto rest = way_to(json[i], value)) return child_pointer("", i) + *rest;
  if (json.is_object())
    for (auto member = json.begin(); member != json.end(); ++member)
      if (const auto rest = way_to(*member, value)) return child_pointer("", member.key()) + *rest;
  return std::nullopt;
}

// A container lies on the tape in front of what it contains, so the way leads through the last
// child that begins at the place or in front of it.
std::string way_on_tape(simdjson::dom::element at, std::size_t index) {
  std::string way;
  while (place_of(at).index < index) {
    simdjson::dom::element next;
    std::string step;
    if (at.is_array()) {
      std::size_t i = 0;
      for (const simdjson::dom::element child : simdjson::dom::array(at)) {
        if (place_of(child).index > index) break;
        next = child;
        step = child_pointer("", i++);
      }
    } else {
      for (const auto& [key, child] : simdjson::dom::object(at)) {
        if (place_of(child).index > index) break;
        next = child;
        step = child_pointer("", key);
      }
    }
    way += step;
    at = next;
  }
  return way;
}

std::optional<std::int64_t> whole_of(const Json& value) {
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

std::optional<std::int64_t> whole_of(const simdjson::dom::element& element) {
  std::int64_t number = 0;
  return element.get(number) == simdjson::SUCCESS ? std::optional(number) : std::nullopt;
}

}  // namespace

Error JsonFault::error(std::string_view file, ErrorKind kind) const {
  const std::string shown = one_line(pointer_);
  return {kind, shown.empty() ? fmt::format("{}: {}", file, message_)
                              : fmt::format("{}: {}: {}", file, shown, message_)};
}

JsonValue::JsonValue(const Json& document) : JsonValue(&document, &document, 0) {}

JsonValue JsonValue::of_line(const simdjson::dom::element& line) {
  return {place_of(line).document, nullptr, place_of(line).index};
}

simdjson::dom::element JsonValue::element() const {
  return std::bit_cast<simdjson::dom::element>(TapePlace{document_, tape_index_});
}

bool JsonValue::is_null() const {
  return json_ != nullptr ? json_->is_null() : element().is_null();
}
bool JsonValue::is_boolean() const {
  return json_ != nullptr ? json_->is_boolean() : element().is_bool();
}
bool JsonValue::is_integer() const {
  return json_ != nullptr ? json_->is_number_integer()
                          : element().is_int64() || element().is_uint64();
}
bool JsonValue::is_number() const {
  return json_ != nullptr ? json_->is_number() : element().is_number();
}
bool JsonValue::is_string() const {
  return json_ != nullptr ? json_->is_string() : element().is_string();
}
bool JsonValue::is_array() const {
  return json_ != nullptr ? json_->is_array() : element().is_array();
}
bool JsonValue::is_object() const {
  return json_ != nullptr ? json_->is_object() : element().is_object();
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (json_ == nullptr) {
    simdjson::dom::element member;
    if (element().at_key(key).get(member) != simdjson::SUCCESS) return std::nullopt;
    return of_line(member);
  }
  if (!json_->is_object()) return std::nullopt;
  const auto member = json_->find(key);
  if (member == json_->end()) return std::nullopt;
  return with(*member);
}

std::optional<JsonValue> JsonValue::find_non_null(std::string_view key) const {
  const auto member = find(key);
  if (!member && !is_object()) expected("an object");
  return member && !member->is_null() ? member : std::nullopt;
}

JsonValue JsonValue::require(std::string_view key) const {
  if (const auto member = find(key)) return *member;
  if (!is_object()) expected("an object");
  fail(fmt::format("key \"{}\" is missing", key));
}

JsonValue JsonValue::operator[](std::string_view key) const {
  if (const auto member = find(key)) return *member;
  if (!is_object()) expected("an object");
  fail(fmt::format("no member \"{}\"", key));
}

JsonValue JsonValue::operator[](std::size_t index) const {
  if (!is_array()) expected("an array");
  if (index >= size()) fail(fmt::format("expected more than {} elements, found {}", index, size()));
  if (json_ != nullptr) return with((*json_)[index]);
  return of_line(simdjson::dom::element(element().at(index)));
}

void JsonValue::check_keys(const std::vector<std::string_view>& known_keys) const {
  each_member([&](std::string_view key, const JsonValue& value) {
    if (std::find(known_keys.begin(), known_keys.end(), key) == known_keys.end())
      value.fail(
          fmt::format("unknown key {}{}", quoted_text(key), nearest_key_hint(key, known_keys)));
  });
}

std::vector<JsonValue> JsonValue::elements() const {
  std::vector<JsonValue> elements;
  if (is_array()) elements.reserve(size());
  each_element([&](const JsonValue& element) { elements.push_back(element); });
  return elements;
}

std::vector<JsonMember> JsonValue::members() const {
  std::vector<JsonMember> members;
  each_member([&](std::string_view key, const JsonValue& value) {
    members.push_back({std::string(key), value});
  });
  return members;
}

void JsonValue::visit_elements(void (*visit)(void*, const JsonValue&), void* to) const {
  if (!is_array()) expected("an array");
  if (json_ != nullptr)
    for (const Json& child : *json_) visit(to, with(child));
  else
    for (const simdjson::dom::element child : simdjson::dom::array(element()))
      visit(to, of_line(child));
}

void JsonValue::visit_members(void (*visit)(void*, std::string_view, const JsonValue&),
                              void* to) const {
  if (!is_object()) expected("an object");
  if (json_ != nullptr)
    for (auto member = json_->begin(); member != json_->end(); ++member)
      visit(to, member.key(), with(*member));
  else
    for (const simdjson::dom::key_value_pair member : simdjson::dom::object(element()))
      visit(to, member.key, of_line(member.value));
}

std::size_t JsonValue::size() const {
  if (!is_array() && !is_object()) expected("an array");
  if (json_ != nullptr) return json_->size();
  return is_array() ? simdjson::dom::array(element()).size()
                    : simdjson::dom::object(element()).size();
}

std::optional<std::int64_t> JsonValue::whole() const {
  return json_ != nullptr ? whole_of(*json_) : whole_of(element());
}

std::int32_t JsonValue::int32(const IntegerRange& range) const {
  return static_cast<std::int32_t>(int64(range));
}

std::int64_t JsonValue::int64(const IntegerRange& range) const {
  const std::optional<std::int64_t> number = whole();
  if (!number || *number < range.min || *number > range.max)
    expected(fmt::format("an integer from {} to {}", range.min, range.max));
  return *number;
}

std::uint64_t JsonValue::uint64() const {
  std::uint64_t number = 0;
  if (json_ == nullptr && element().get(number) == simdjson::SUCCESS) return number;
  if (json_ != nullptr && json_->is_number_unsigned()) return json_->get<std::uint64_t>();
  expected("an integer from 0 to 18446744073709551615");
}

double JsonValue::number() const {
  if (!is_number()) expected("a number");
  return json_ != nullptr ? json_->get<double>() : double(element());
}

double JsonValue::number(double min, double max) const {
  if (!is_number() || number() < min || number() > max)
    expected(fmt::format("a number from {} to {}", min, max));
  return number();
}

bool JsonValue::boolean() const {
  if (!is_boolean()) expected("true or false");
  return json_ != nullptr ? json_->get<bool>() : bool(element());
}

std::string_view JsonValue::text() const {
  if (!is_string()) expected("a string");
  if (json_ != nullptr) return json_->get_ref<const std::string&>();
  return std::string_view(element());
}

std::string JsonValue::name() const {
  constexpr std::size_t kMaxName = 64;
  const std::string_view name = text();
  if (name.empty() || name.size() > kMaxName)
    fail(fmt::format("expected 1 to {} bytes, found {}", kMaxName, name.size()));
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    fail("a control character in a name (expected printable text)");
  return std::string(name);
}

std::string JsonValue::words() const {
  if (text().empty()) expected("text");
  return string();
}

std::size_t JsonValue::choice(std::span<const std::string_view> names) const {
  const auto found = is_string() ? std::ranges::find(names, text()) : names.end();
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string hint =
      is_string() ? nearest_key_hint(text(), {names.begin(), names.end()}) : std::string();
  fail(fmt::format("expected one of {}, found {}{}", fmt::join(names, ", "), describe(), hint));
}

std::size_t JsonValue::one_of(std::initializer_list<std::string_view> names) const {
  const auto* const found = std::find(names.begin(), names.end(), text());
  if (found == names.end()) expected(fmt::format("one of {}", fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<std::int32_t> JsonValue::int32_at(std::string_view key,
                                                const IntegerRange& range) const {
  const auto member = find(key);
  return member ? std::optional(member->int32(range)) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::int64_at(std::string_view key,
                                                const IntegerRange& range) const {
  const auto member = find(key);
  return member ? std::optional(member->int64(range)) : std::nullopt;
}

std::optional<bool> JsonValue::boolean_at(std::string_view key) const {
  const auto member = find(key);
  return member ? std::optional(member->boolean()) : std::nullopt;
}

std::optional<std::string> JsonValue::string_at(std::string_view key) const {
  const auto member = find(key);
  return member ? std::optional(member->string()) : std::nullopt;
}

template <class T>
std::vector<T> JsonValue::integers(const IntegerRange& range, std::int64_t length) const {
  if (!is_array()) expected("an array of integers");
  if (length >= 0 && size() != static_cast<std::size_t>(length))
    expected(fmt::format("an array of {} integers", length));
  std::vector<T> numbers;
  numbers.reserve(size());
  each_element(
      [&](const JsonValue& value) { numbers.push_back(static_cast<T>(value.int64(range))); });
  return numbers;
}

std::vector<std::int32_t> JsonValue::int32s(std::int64_t length) const {
  return integers<std::int32_t>(kAnyInt32, length);
}

std::vector<std::int64_t> JsonValue::int64s(std::int64_t length) const {
  return integers<std::int64_t>(kAnyInt64, length);
}

std::vector<std::string> JsonValue::strings() const {
  std::vector<std::string> strings;
  each_element([&](const JsonValue& value) { strings.push_back(value.string()); });
  return strings;
}

// Without `flatten`, simdjson's functions are calls here, and judging a trace takes a tenth longer.
[[gnu::flatten]] bool JsonValue::try_append_int32s(const IntegerRange& range,
                                                   std::vector<std::int32_t>& out) const {
  if (json_ != nullptr || !is_array()) return false;
  const std::size_t before = out.size();
  for (const simdjson::dom::element child : simdjson::dom::array(element())) {
    std::int64_t number = 0;
    if (child.get(number) != simdjson::SUCCESS || number < range.min || number > range.max) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<std::int32_t>(number));
  }
  return true;
}

void JsonValue::append_int32s(const IntegerRange& range, std::vector<std::int32_t>& out) const {
  if (try_append_int32s(range, out)) return;
  each_element([&](const JsonValue& value) { out.push_back(value.int32(range)); });
}

void JsonValue::fail(const std::string& message) const { throw JsonFault(pointer(), message); }

void JsonValue::fail_at(std::string_view key, const std::string& message) const {
  throw JsonFault(child_pointer(pointer(), key), message);
}

void JsonValue::expected(std::string_view what) const {
  fail(fmt::format("expected {}, found {}", what, describe()));
}

std::string JsonValue::describe() const {
  if (is_object()) return "an object";
  if (is_array()) return fmt::format("an array of {}", size());
  return is_string() ? quoted_text(text()) : dump();
}

std::string JsonValue::dump() const {
  return json_ != nullptr ? json_->dump(-1, ' ', false, Json::error_handler_t::replace)
                          : simdjson::minify(element());
}

std::string JsonValue::pointer() const {
  if (json_ != nullptr) return way_to(*static_cast<const Json*>(document_), json_).value_or("");
  const auto root = static_cast<const simdjson::dom::document*>(document_)->root();
  return way_on_tape(root, tape_index_);
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

}  // namespace hybridscope
