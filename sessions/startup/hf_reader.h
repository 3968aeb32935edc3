// Reads keys of one JSON object of a config.json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/text/json_value.h"

namespace hybridscope {

// A JsonFault says what is missing or wrong, in
// words of its own: "key "x": found ..., expected ...".
class HfConfigReader {
 public:
  // `path`: of the object inside the file, "" or "text_config: ".
  explicit HfConfigReader(const JsonValue& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  bool has(std::string_view key) const;  // present and not null

  bool is_text(std::string_view key, std::string_view text) const;  // present and equal to it
  bool is_number(std::string_view key, std::int64_t number) const;

  // A whole number 1 .. 2^31-1.
  std::int64_t count(std::string_view key) const;
  std::int64_t count_or(std::string_view key, std::int64_t absent) const;
  // A whole number 0 .. 2^31-1.
  std::int64_t whole_or(std::string_view key, std::int64_t absent) const;
  bool flag_or(std::string_view key, bool absent) const;
  double real_or(std::string_view key, double absent) const;  // any finite number
  std::string text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // Whole numbers 0 .. 2^31-1.
  std::vector<std::int64_t> numbers(std::string_view key) const;
  std::vector<std::int64_t> numbers_or(std::string_view key,
                                       std::vector<std::int64_t> absent) const;
  // Finite numbers.
  std::vector<double> reals_or(std::string_view key, std::vector<double> absent) const;
  // A nested object.
  HfConfigReader object(std::string_view key) const;

  // The first of `keys` that is present.
  std::int64_t count_of_any(std::initializer_list<std::string_view> keys) const;

  [[noreturn]] void fail(const std::string& message) const;
  // "key "x": found ..., expected ..." or "key "x" is missing, ..."; the value is cut to the length
  // of a line.
  [[noreturn]] void fail_key(std::string_view key, std::string_view expected) const;

 private:
  JsonValue object_;
  std::string path_;
};

}  // namespace hybridscope
