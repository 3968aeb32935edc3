// Typed reading of JSON objects with one error: the first thing wrong, as file and JSON pointer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// One value and where it stands. Cheap to copy; the document outlives it.
struct JsonPlace {
  const nlohmann::json* value = nullptr;
  std::string pointer;  // "" is the document, "/requests/0" an element
};

// Keeps the first error of a document.
class JsonErrors {
 public:
  // `base`: what pointers of this document are relative to, when it stands inside another one.
  explicit JsonErrors(std::string file, std::string base = {})
      : file_(std::move(file)), base_(std::move(base)) {}

  // "FILE: POINTER: MESSAGE"; later calls change nothing.
  void fail(const std::string& pointer, const std::string& message);
  bool failed() const { return error_.has_value(); }
  // Requires: failed().
  const Error& error() const { return *error_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::string base_;
  std::optional<Error> error_;
};

// The number, if it is a whole one of 63 bits; 8.0 is one, as JSON Schema has it.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);

// The readers below report to `errors` and go on with an empty or smallest value.
std::int64_t read_integer(const JsonPlace& place, const IntegerRange& range, JsonErrors& errors);
std::string read_string(const JsonPlace& place, JsonErrors& errors);
// A name that can stand in a message and in a file name: 1 to 64 bytes without control characters.
std::string read_name(const JsonPlace& place, JsonErrors& errors);
bool read_boolean(const JsonPlace& place, JsonErrors& errors);
// Elements of an array.
std::vector<JsonPlace> read_array(const JsonPlace& place, JsonErrors& errors);

struct JsonMember {
  std::string key;
  JsonPlace place;
};
// Members of an object with free keys, in ascending order of keys.
std::vector<JsonMember> read_members(const JsonPlace& place, JsonErrors& errors);

// Members of an object whose keys are known. The constructor reports a value that is no object and
// any key outside `known_keys`, with the nearest known key when one is near.
class ObjectReader {
 public:
  ObjectReader(JsonPlace place, std::initializer_list<std::string_view> known_keys,
               JsonErrors& errors);
  ObjectReader(JsonPlace place, const std::vector<std::string_view>& known_keys,
               JsonErrors& errors);

  // Absent: empty.
  std::optional<JsonPlace> find(std::string_view key) const;
  // Absent: an error, and empty.
  std::optional<JsonPlace> require(std::string_view key) const;

  std::optional<std::int64_t> integer(std::string_view key, const IntegerRange& range) const;
  std::optional<std::string> string(std::string_view key) const;

  const std::string& pointer() const { return place_.pointer; }

 private:
  JsonPlace place_;
  JsonErrors* errors_;
};

// Pointer of a member: escapes ~ and / as RFC 6901 says.
std::string child_pointer(const std::string& pointer, std::string_view key);
std::string child_pointer(const std::string& pointer, std::size_t index);

// The text in quotes, escaped as in JSON and cut to 60 bytes: for messages.
std::string quoted_text(std::string_view text);

// "\"text\"", "null", "-5", "an array of 3": for messages.
std::string describe_json(const nlohmann::json& value);

// ", did you mean \"prompt\"?" or nothing when no known key is near.
std::string nearest_key_hint(std::string_view key, const std::vector<std::string_view>& known_keys);

}  // namespace hybridscope
