// Reads keys of one JSON object and remembers the first thing that was wrong, so that a reader of
// many keys checks once at the end. Used by hf_config.cpp only.
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
  // `where` goes before each message: the file, and the object's path inside it.
  HfConfigReader(const nlohmann::json& object, std::string where);

  bool has(const char* key) const;  // there and not null

  bool is_text(const char* key, std::string_view text) const;  // there and this very string

  // A whole number 1 .. 2^31-1; 1 after an error, so that callers can go on.
  std::int64_t count(const char* key);
  std::int64_t count_or(const char* key, std::int64_t absent);
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);
  // Whole numbers 0 .. 2^31-1.
  std::vector<std::int64_t> numbers(const char* key);
  // An object below this one; its errors are reported by the reader that is returned.
  Result<HfConfigReader> object(const char* key) const;

  // First of `keys` that is there.
  std::int64_t count_of_any(std::initializer_list<const char*> keys);

  void fail(const std::string& message);  // kept only if it is the first
  void adopt(const Error& error);         // of a reader below this one, as it is
  bool failed() const { return error_.has_value(); }
  // Requires: failed().
  const Error& error() const { return *error_; }

  // "key "x": found ..., expected ..." or "key "x" is missing, ...", with the value cut to a line's
  // length.
  std::string wrong(const char* key, std::string_view expected) const;

 private:
  const nlohmann::json* find(const char* key, std::string_view expected);

  const nlohmann::json* object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace hybridscope
