// Parses JSON text with checks that a general parser lacks: size, UTF-8, duplicate keys, nesting.
// JsonBuilder makes the value (only for json_reader.cpp); parse_json throws no exception.
// JsonCutter reads texts that are too large to be parsed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// The first problem that JsonBuilder found.
struct JsonProblem {
  enum class Kind { none, syntax, structure };
  Kind kind = Kind::none;
  std::size_t offset = 0;  // syntax: bytes read, including the offending one
  std::string pointer;     // structure: the place
  std::string message;
};

class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(Json::number_integer_t value) override;
  bool number_unsigned(Json::number_unsigned_t value) override;
  bool number_float(Json::number_float_t value, const Json::string_t& text) override;
  bool string(Json::string_t& value) override;
  bool binary(Json::binary_t& value) override;
  bool start_object(std::size_t size) override;
  bool key(Json::string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t size) override;
  bool end_array() override;
  bool parse_error(std::size_t offset, const std::string& last_token,
                   const Json::exception& error) override;

  Json& root() { return root_; }
  const JsonProblem& problem() const { return problem_; }

 private:
  bool add(Json value);
  bool open(Json container);
  bool fail(std::string message);

  Json root_;
  std::vector<Json*> open_;  // open containers, outermost first
  std::string key_;          // key of the next value in an object
  JsonProblem problem_;
};

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;
inline constexpr int kMaxJsonDepth = 64;

struct JsonText {
  std::string_view text;
  std::string_view file;  // for messages
  // Set when `text` is one line of the file, or begins in it: its number, which all messages
  // contain.
  std::optional<int> line = std::nullopt;
  std::size_t bytes_before = 0;  // of that line, which `text` does not contain
};

// Error corrupt, "FILE:LINE:COLUMN: what was found and expected" (columns in bytes, counted from
// 1): text that is not JSON or not UTF-8, is nested deeper than kMaxJsonDepth, or is longer than
// kMaxJsonBytes. "FILE: POINTER: ..." (with `line`, "FILE:LINE: POINTER: ..."): a duplicate key in
// an object.
Result<nlohmann::json> parse_json(const JsonText& json);

// Error io: `path` is a directory, which can be opened but not read.
Status check_no_directory(const std::string& path);

// The file's bytes, at least the first kMaxJsonBytes + 1. Errors: those of open_plain_file().
Result<std::string> read_text_file(const std::string& path);

// Cuts a JSON text of any size into the elements of its outermost array or the members of its
// outermost object, without keeping more than one of them: for files that parse_json() refuses.

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
