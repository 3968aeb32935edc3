#include "sessions/text/json_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/input_file.h"
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

}  // namespace hybridscope
