#include "sessions/text/json_cutter.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::size_t kCutterBufferBytes = std::size_t{1} << 18;

bool is_json_space(int byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

}  // namespace

JsonCutter::JsonCutter(std::string file, ReadBytes read, std::size_t max_value_bytes)
    : file_(std::move(file)), read_(std::move(read)), max_value_bytes_(max_value_bytes) {
  buffer_.resize(kCutterBufferBytes);
}

Error JsonCutter::error_here(const std::string& message) const {
  if (error_) return {error_->kind, fmt::format("{}:{}: {}", file_, line_, error_->message)};
  return {ErrorKind::corrupt, fmt::format("{}:{}: {}", file_, line_, message)};
}

Error JsonCutter::unexpected(const std::string& expected) {
  const int found = peek();
  const char byte = static_cast<char>(found);
  return error_here(fmt::format(
      "found {} (expected {})",
      found == kEnd ? std::string("the end of the file") : quoted_text({&byte, 1}), expected));
}

int JsonCutter::peek() {
  if (begin_ == end_ && !error_) {
    const auto count = read_(std::span(buffer_));
    if (!count.ok()) error_ = count.error();
    begin_ = 0;
    end_ = count.ok() ? count.value() : 0;
  }
  return begin_ == end_ ? kEnd : static_cast<unsigned char>(buffer_[begin_]);
}

// Requires: peek() was not kEnd.
void JsonCutter::advance() {
  const bool newline = buffer_[begin_++] == '\n';
  line_ += newline ? 1 : 0;
  column_ = newline ? 0 : column_ + 1;
}

int JsonCutter::peek_past_space() {
  while (is_json_space(peek())) advance();
  return peek();
}

Result<char> JsonCutter::enter(Outermost expected) {
  const int found = peek_past_space();
  if (expected == Outermost::array_or_lines && found == '{') return ' ';
  const bool object = expected == Outermost::object;
  if (found != (object ? '{' : '[')) return unexpected(object ? "an object" : "an array");
  advance();
  closing_ = object ? '}' : ']';
  return object ? '{' : '[';
}

Result<bool> JsonCutter::at_next() {
  if (ended_) return false;
  int found = peek_past_space();
  const bool sequence = closing_ == ' ';
  if (found == kEnd && sequence && !error_) return !(ended_ = true);
  if (!sequence && found == closing_) {
    advance();
    ended_ = true;
    if (peek_past_space() != kEnd || error_) return unexpected("the end of the file");
    return false;
  }
  if (!first_ && !sequence) {
    if (found != ',') return unexpected(fmt::format("\",\" or \"{}\"", closing_));
    advance();
    found = peek_past_space();
  }
  if (found == kEnd || found == closing_) return unexpected("a value");
  first_ = false;
  return true;
}

// One value, up to the byte behind it.
Status JsonCutter::cut_value(bool keeps) {
  value_.clear();
  value_line_ = line_;
  value_column_ = column_;
  std::size_t size = 0;
  int depth = 0;
  bool in_string = false;
  bool escaped = false;
  for (;;) {
    const int byte = peek();
    const bool scalar_ends =
        !in_string && depth == 0 && size > 0 &&
        (byte == ',' || byte == ']' || byte == '}' || byte == ':' || is_json_space(byte));
    if (byte == kEnd && (error_ || in_string || depth > 0))
      return error_here(
          fmt::format("the file ends within a value that begins in line {}", value_line_));
    if (byte == kEnd || scalar_ends) return Ok{};
    if (keeps) value_.push_back(static_cast<char>(byte));
    if (++size > max_value_bytes_ && keeps)
      return Error{ErrorKind::corrupt, fmt::format("{}:{}: a value of more than {} bytes", file_,
                                                   value_line_, max_value_bytes_)};
    advance();
    if (in_string) {
      in_string = escaped || byte != '"';
      escaped = !escaped && byte == '\\';
      if (!in_string && depth == 0) return Ok{};
    } else if (byte == '"') {
      in_string = true;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if (byte == '}' || byte == ']') {
      if (--depth <= 0) return Ok{};
    }
  }
}

Result<nlohmann::json> JsonCutter::parsed() const {
  return parse_json(
      {.text = value_, .file = file_, .line = value_line_, .bytes_before = value_column_});
}

Result<std::optional<nlohmann::json>> JsonCutter::next() {
  const auto more = at_next();
  if (!more.ok()) return more.error();
  if (!more.value()) return std::optional<nlohmann::json>();
  auto value = take_value();
  if (!value.ok()) return value.error();
  return std::optional(std::move(value).value());
}

Result<std::optional<std::string>> JsonCutter::next_key() {
  const auto more = at_next();
  if (!more.ok()) return more.error();
  if (!more.value()) return std::optional<std::string>();
  if (peek() != '"') return unexpected("a key in quotes");
  const auto key = take_value();
  if (!key.ok()) return key.error();
  if (peek_past_space() != ':') return unexpected("\":\" behind the key");
  advance();
  return std::optional(key.value().get<std::string>());
}

Result<nlohmann::json> JsonCutter::take_value() {
  if (peek_past_space() == kEnd) return unexpected("a value");
  if (Status cut = cut_value(true); !cut.ok()) return cut.error();
  return parsed();
}

Status JsonCutter::skip_value() {
  if (peek_past_space() == kEnd) return unexpected("a value");
  return cut_value(false);
}

}  // namespace hybridscope
