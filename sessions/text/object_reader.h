// Typed reading of JSON objects. Keeps one error: the first one, with file and JSON pointer.
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

// One value and its place. Cheap to copy; the document must outlive it.
struct JsonPlace {
  const nlohmann::json* value = nullptr;
  std::string pointer;  // "" is the document, "/requests/0" an element
};

// Keeps the first error of a document.
class JsonErrors {
 public:
  // `base`: the pointer of this document inside another one; it precedes all pointers.
  explicit JsonErrors(std::string file, std::string base = {})
      : file_(std::move(file)), base_(std::move(base)) {}

  // "FILE: POINTER: MESSAGE". Only the first call has an effect.
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

// The number, if it is a whole number of at most 63 bits. As in JSON Schema, 8.0 is one.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);

// The readers below report to `errors` and return an empty or smallest value after an error.
std::int64_t read_integer(const JsonPlace& place, const IntegerRange& range, JsonErrors& errors);
std::string read_string(const JsonPlace& place, JsonErrors& errors);
// A name that is safe in messages and file names: 1 to 64 bytes without control characters.
std::string read_name(const JsonPlace& place, JsonErrors& errors);
bool read_boolean(const JsonPlace& place, JsonErrors& errors);
// The elements of an array.
std::vector<JsonPlace> read_array(const JsonPlace& place, JsonErrors& errors);

struct JsonMember {
  std::string key;
  JsonPlace place;
};
// The members of an object with free keys, in ascending order of keys.
std::vector<JsonMember> read_members(const JsonPlace& place, JsonErrors& errors);

// Reads an object with known keys. The constructor reports a value that is not an object and any
// key outside `known_keys`, with the most similar known key if there is one.
class ObjectReader {
 public:
  ObjectReader(JsonPlace place, std::initializer_list<std::string_view> known_keys,
               JsonErrors& errors);
  ObjectReader(JsonPlace place, const std::vector<std::string_view>& known_keys,
               JsonErrors& errors);

  // Empty when absent.
  std::optional<JsonPlace> find(std::string_view key) const;
  // Absent: reports an error and returns empty.
  std::optional<JsonPlace> require(std::string_view key) const;

  std::optional<std::int64_t> integer(std::string_view key, const IntegerRange& range) const;
  std::optional<std::string> string(std::string_view key) const;

  const std::string& pointer() const { return place_.pointer; }

 private:
  JsonPlace place_;
  JsonErrors* errors_;
};

// The pointer of a member: escapes ~ and / as RFC 6901 says.
std::string child_pointer(const std::string& pointer, std::string_view key);
std::string child_pointer(const std::string& pointer, std::size_t index);

// The text in quotes, as one_line() shows it and cut to 60 bytes; for messages.
std::string quoted_text(std::string_view text);

// "\"text\"", "null", "-5", "an array of 3"; for messages.
std::string describe_json(const nlohmann::json& value);

// ", did you mean \"prompt\"?", or empty when no known key is similar.
std::string nearest_key_hint(std::string_view key, const std::vector<std::string_view>& known_keys);

}  // namespace hybridscope
