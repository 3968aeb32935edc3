#include "sessions/startup/python_literal.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace hybridscope {
namespace {

using PythonJson = nlohmann::ordered_json;

constexpr int kMostNested = 64;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-+/~").find(c) != std::string_view::npos;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// 12, -3, 0.5, 1e-05; empty for any other word.
std::optional<PythonJson> number_of(std::string_view word) {
  const char* const end = word.data() + word.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(word.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return whole;
  double real = 0;
  const bool is_digits = word.find_first_not_of("0123456789+-.e") == word.npos;
  if (const auto read = std::from_chars(word.data(), end, real);
      is_digits && read.ec == std::errc() && read.ptr == end)
    return real;
  return std::nullopt;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  if (code >= 0x10000) {
    text += static_cast<char>(0xF0 | (code >> 18));
    text += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
  } else if (code >= 0x800) {
    text += static_cast<char>(0xE0 | (code >> 12));
  }
  if (code >= 0x800)
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
  else
    text += static_cast<char>(0xC0 | (code >> 6));
  text += static_cast<char>(0x80 | (code & 0x3F));
}

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  PythonValue whole() {
    if (auto value = read(0)) result_.value = *std::move(value);
    return std::move(result_);
  }

  PythonValue arguments() {
    result_.value = PythonJson::object();
    while (read_argument(result_.value, 0) && take(',')) {
    }
    return std::move(result_);
  }

 private:
  bool at_end() {
    if (at_ >= text_.size()) result_.is_cut = true;
    return result_.is_cut;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Empty: it cannot be read; the text goes on behind it, unless it is cut.
  std::optional<PythonJson> read(int depth) {
    skip_space();
    if (at_end() || depth > kMostNested) return std::nullopt;
    switch (text_[at_]) {
      case '\'':
      case '"': return read_string();
      case '{': return read_braces(depth);
      case '[': return read_list(']', depth);
      case '(': return read_list(')', depth);
      case '<': return read_object();
      default: return read_word(depth);
    }
  }

  std::optional<PythonJson> read_string() {
    std::string value;
    const char quote = text_[at_++];
    for (; !at_end() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size())
        read_escape(value);
      else
        value += text_[at_];
    }
    if (at_end()) return std::nullopt;
    ++at_;
    return value;
  }

  void read_escape(std::string& value) {
    const char c = text_[++at_];
    constexpr std::string_view kNames = "nrt";
    constexpr std::string_view kMeanings = "\n\r\t";
    if (const std::size_t known = kNames.find(c); known != kNames.npos) {
      value += kMeanings[known];
      return;
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    const std::string_view number = text_.substr(at_ + 1, digits);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), code, 16);
    if (digits == 0 || number.size() < digits || read.ptr != number.data() + digits) {
      value += c;
      return;
    }
    append_utf8(value, std::min<std::uint32_t>(code, 0x10FFFF));
    at_ += digits;
  }

  // A dict, or a set.
  std::optional<PythonJson> read_braces(int depth) {
    ++at_;
    PythonJson object = PythonJson::object();
    PythonJson set = PythonJson::array();
    while (!take('}')) {
      if (at_end()) return object;
      const auto key = read(depth + 1);
      if (take(':'))
        add_member(object,
                   key && key->is_string() ? key->get<std::string>() : (key ? key->dump() : "?"),
                   depth);
      else if (key)
        set.push_back(*key);
      if (!take(',') && !next_is('}')) return cut_short(object);
    }
    return set.empty() ? object : set;
  }

  std::optional<PythonJson> read_list(char end, int depth) {
    ++at_;
    PythonJson list = PythonJson::array();
    while (!take(end)) {
      if (at_end()) return list;
      if (auto value = read(depth + 1)) list.push_back(*std::move(value));
      if (!take(',') && !next_is(end)) return cut_short(list);
    }
    return list;
  }

  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }

  PythonJson cut_short(PythonJson value) {
    result_.is_cut = true;
    return value;
  }

  // "<CUDAGraphMode.NONE: 0>"; what has no such name cannot be read.
  std::optional<PythonJson> read_object() {
    std::size_t end = at_;
    for (int open = 0; end < text_.size(); ++end) {
      if (text_[end] == '<') ++open;
      if (text_[end] == '>' && --open == 0) break;
    }
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    if (at_end()) return std::nullopt;
    ++at_;
    const std::string_view name = inside.substr(0, inside.find(':'));
    const std::size_t dot = name.rfind('.');
    if (name.size() == inside.size() || dot == name.npos ||
        !std::ranges::all_of(name.substr(dot + 1), is_name_character))
      return std::nullopt;
    return std::string(name.substr(dot + 1));
  }

  std::optional<PythonJson> read_word(int depth) {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    // A word that ends the text may go on.
    if (word.empty() || at_end()) {
      result_.is_cut = true;
      return std::nullopt;
    }
    if (text_[at_] == '(') return read_call(depth);
    if (word == "None") return PythonJson(nullptr);
    if (word == "True" || word == "False") return PythonJson(word == "True");
    if (auto number = number_of(word)) return number;
    return std::string(word.starts_with("torch.") ? word.substr(6) : word);
  }

  std::optional<PythonJson> read_call(int depth) {
    ++at_;
    PythonJson object = PythonJson::object();
    PythonJson list = PythonJson::array();
    while (!take(')')) {
      if (at_end()) return object;
      if (!read_argument(object, depth + 1)) {
        auto value = read(depth + 1);
        if (result_.is_cut) return object;
        if (value) list.push_back(*std::move(value));
      }
      if (!take(',') && !next_is(')')) return cut_short(object);
    }
    if (object.empty() && list.size() == 1) return list[0];
    return object;
  }

  // "name=value"; false: something else follows, and nothing was taken.
  bool read_argument(PythonJson& object, int depth) {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    if (end == at_ || end >= text_.size() || text_[end] != '=') return false;
    std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    add_member(object, std::move(name), depth);
    return !result_.is_cut;
  }

  void add_member(PythonJson& object, std::string name, int depth) {
    path_.push_back(name);
    auto value = read(depth + 1);
    if (value) {
      object[std::move(name)] = *std::move(value);
    } else if (!result_.is_cut) {
      std::string path;
      for (const std::string& part : path_) path += (path.empty() ? "" : ".") + part;
      result_.not_read.push_back(std::move(path));
    }
    path_.pop_back();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> path_;
  PythonValue result_;
};

}  // namespace

PythonValue read_python_value(std::string_view text) { return PythonReader(text).whole(); }

PythonValue read_python_arguments(std::string_view text) { return PythonReader(text).arguments(); }

}  // namespace hybridscope
