#include "sessions/text/json_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "sessions/text/json_value.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

// JSON pointer of the innermost open container.
std::string pointer_of(const std::vector<nlohmann::json*>& open) {
  std::string pointer;
  for (std::size_t i = 0; i + 1 < open.size(); ++i) {
    const nlohmann::json& parent = *open[i];
    if (parent.is_array()) {
      pointer = child_pointer(pointer, parent.size() - 1);
      continue;
    }
    for (auto member = parent.begin(); member != parent.end(); ++member)
      if (&*member == open[i + 1]) pointer = child_pointer(pointer, member.key());
  }
  return pointer;
}

// "FILE:LINE:COLUMN" of the byte at `offset`.
std::string location(const JsonText& json, std::size_t offset) {
  const std::string_view before = json.text.substr(0, std::min(offset, json.text.size()));
  const auto newlines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column =
      last == std::string_view::npos ? json.bytes_before + before.size() : before.size() - last - 1;
  return fmt::format("{}:{}:{}", json.file, json.line.value_or(1) + newlines, column + 1);
}

Error corrupt(std::string message) { return Error{ErrorKind::corrupt, std::move(message)}; }

// Offset of the first byte that is not UTF-8, or npos.
std::size_t first_non_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const bool is_ascii = static_cast<unsigned char>(text[offset]) < 0x80;
    const std::size_t length = is_ascii ? 1 : first_character(text.substr(offset)).length;
    if (length == 0) return offset;
    offset += length;
  }
  return std::string_view::npos;
}

// The parser's message without the prefix "[json.exception...] parse error at line ...: ".
std::string plain_words(std::string_view what) {
  const std::size_t bracket = what.find("] ");
  if (what.starts_with("[json") && bracket != std::string_view::npos)
    what.remove_prefix(bracket + 2);
  const std::size_t colon = what.find(": ");
  if (what.starts_with("parse error at") && colon != std::string_view::npos)
    what.remove_prefix(colon + 2);
  return std::string(what);
}

}  // namespace

bool JsonBuilder::fail(std::string message) {
  problem_ = {JsonProblem::Kind::structure, 0, pointer_of(open_), std::move(message)};
  return false;
}

bool JsonBuilder::add(Json value) {
  if (open_.empty())
    root_ = std::move(value);
  else if (open_.back()->is_array())
    open_.back()->push_back(std::move(value));
  else
    (*open_.back())[key_] = std::move(value);
  return true;
}

bool JsonBuilder::open(Json container) {
  if (open_.size() >= static_cast<std::size_t>(kMaxJsonDepth))
    return fail(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
  Json* const parent = open_.empty() ? nullptr : open_.back();
  add(std::move(container));
  if (parent == nullptr)
    open_.push_back(&root_);
  else
    open_.push_back(parent->is_array() ? &parent->back() : &(*parent)[key_]);
  return true;
}

bool JsonBuilder::null() { return add(nullptr); }
bool JsonBuilder::boolean(bool value) { return add(value); }
bool JsonBuilder::number_integer(Json::number_integer_t value) { return add(value); }
bool JsonBuilder::number_unsigned(Json::number_unsigned_t value) { return add(value); }
bool JsonBuilder::number_float(Json::number_float_t value, const Json::string_t&) {
  return add(value);
}
bool JsonBuilder::string(Json::string_t& value) { return add(std::move(value)); }
bool JsonBuilder::binary(Json::binary_t&) { return fail("binary value in JSON text"); }

bool JsonBuilder::start_object(std::size_t) { return open(Json::object()); }
bool JsonBuilder::start_array(std::size_t) { return open(Json::array()); }

bool JsonBuilder::key(Json::string_t& name) {
  key_ = std::move(name);
  if (open_.back()->contains(key_))
    return fail(fmt::format("key {} occurs twice", quoted_text(key_)));
  return true;
}

bool JsonBuilder::end_object() {
  open_.pop_back();
  return true;
}

bool JsonBuilder::end_array() {
  open_.pop_back();
  return true;
}

bool JsonBuilder::parse_error(std::size_t offset, const std::string&,
                              const Json::exception& error) {
  problem_ = {JsonProblem::Kind::syntax, offset, {}, error.what()};
  return false;
}

Result<nlohmann::json> parse_json(const JsonText& json) {
  if (json.text.size() > kMaxJsonBytes)
    return corrupt(fmt::format("{}: more than {} bytes (expected at most that many)", json.file,
                               kMaxJsonBytes));
  if (const std::size_t bad = first_non_utf8(json.text); bad != std::string_view::npos)
    return corrupt(fmt::format("{}: byte 0x{:02X} is no UTF-8 (expected JSON in UTF-8)",
                               location(json, bad), static_cast<unsigned char>(json.text[bad])));
  JsonBuilder builder;
  if (nlohmann::json::sax_parse(json.text.begin(), json.text.end(), &builder))
    return std::move(builder.root());
  const JsonProblem& problem = builder.problem();
  if (problem.kind == JsonProblem::Kind::syntax)
    return corrupt(fmt::format("{}: {}",
                               location(json, problem.offset == 0 ? 0 : problem.offset - 1),
                               plain_words(problem.message)));
  const std::string place =
      json.line ? fmt::format("{}:{}", json.file, *json.line) : std::string(json.file);
  return JsonFault(problem.pointer, problem.message).error(place, ErrorKind::corrupt);
}

Status check_no_directory(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return Ok{};
  return Error{ErrorKind::io, fmt::format("{}: is a directory (expected a file)", path)};
}

Result<std::string> read_text_file(const std::string& path) {
  auto read = open_plain_file(path);
  if (!read.ok()) return read.error();
  std::string text;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (text.size() <= kMaxJsonBytes) {
    const auto count = read.value()(chunk);
    if (!count.ok())
      return Error{count.error().kind, fmt::format("{}: {}", path, count.error().message)};
    if (count.value() == 0) break;
    text.append(chunk, 0, count.value());
  }
  return text;
}

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
