// Cuts a JSON text of any size into the elements of its outermost array or the members of its
// outermost object, without keeping more than one of them: for files that parse_json() refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {

class JsonCutter {
 public:
  // `file` is for messages.
  JsonCutter(std::string file, ReadBytes read, std::size_t max_value_bytes = kMaxJsonBytes);

  // Goes into the outermost container: "[", "{", or, if `lines` and the first value is an object,
  // a sequence of values without an array around them (JSON Lines), for which it returns ' '.
  // Error corrupt "FILE:LINE: ...": anything else.
  enum class Outermost : std::uint8_t { array, object, array_or_lines };
  Result<char> enter(Outermost expected);

  // The next element, parsed; empty at the end, behind which there is nothing but space. Errors
  // corrupt: "FILE:LINE:COLUMN: ..." inside the element, "FILE:LINE: ..." around it: a text that
  // ends too early, a missing comma, an element above the limit.
  Result<std::optional<nlohmann::json>> next();

  // For an object: the key of the next member; empty at the end. Its value has to be taken or
  // skipped then.
  Result<std::optional<std::string>> next_key();
  Result<nlohmann::json> take_value();
  Status skip_value();

  // Where the last value begins, counted from 1.
  int line() const { return value_line_; }

 private:
  static constexpr int kEnd = -1;
  int peek();  // the next byte, kEnd at the end or after an error
  void advance();
  int peek_past_space();
  Result<bool> at_next();  // false: the container has ended
  Status cut_value(bool keeps);
  Result<nlohmann::json> parsed() const;
  Error error_here(const std::string& message) const;
  Error unexpected(const std::string& expected);

  std::string file_;
  ReadBytes read_;
  std::size_t max_value_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the bytes not looked at yet
  std::size_t end_ = 0;
  std::optional<Error> error_;  // of read_
  std::string value_;           // the last one that was kept
  char closing_ = ' ';          // of the outermost container; ' ': a sequence without one
  bool first_ = true;           // no value was cut yet
  bool ended_ = false;
  int line_ = 1;
  std::size_t column_ = 0;  // bytes of the line before the next one
  int value_line_ = 1;
  std::size_t value_column_ = 0;
};

}  // namespace hybridscope
