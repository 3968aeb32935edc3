// Reads keys of one JSON object and keeps the first error, so that a reader of many keys checks
// only once at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

class HfConfigReader {
 public:
  // `where` is the prefix of each message: the file, and the object's path inside it.
  HfConfigReader(const nlohmann::json& object, std::string where);

  bool has(const char* key) const;  // present and not null

  bool is_text(const char* key, std::string_view text) const;  // present and equal to this string

  bool is_number(const char* key, std::int64_t number) const;  // present and equal to it

  // A whole number 1 .. 2^31-1; after an error 1, so that callers can continue.
  std::int64_t count(const char* key);
  std::int64_t count_or(const char* key, std::int64_t absent);
  bool flag_or(const char* key, bool absent);
  double real_or(const char* key, double absent);  // any finite number
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);
  // Whole numbers 0 .. 2^31-1.
  std::vector<std::int64_t> numbers(const char* key);
  std::vector<std::int64_t> numbers_or(const char* key, std::vector<std::int64_t> absent);
  // Finite numbers.
  std::vector<double> reals_or(const char* key, std::vector<double> absent);
  // A nested object. Its reader keeps its own errors.
  Result<HfConfigReader> object(const char* key) const;

  // The first of `keys` that is present.
  std::int64_t count_of_any(std::initializer_list<const char*> keys);

  void fail(const std::string& message);  // kept only if it is the first error
  void adopt(const Error& error);         // takes the error of a nested reader unchanged
  bool failed() const { return error_.has_value(); }
  // Requires: failed().
  const Error& error() const { return *error_; }

  // "key "x": found ..., expected ..." or "key "x" is missing, ..."; the value is cut to the length
  // of a line.
  std::string wrong(const char* key, std::string_view expected) const;

 private:
  const nlohmann::json* find(const char* key, std::string_view expected);

  const nlohmann::json* object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace hybridscope
