#include "sessions/breakpoint/break_lexer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace hybridscope {
namespace {

// Longer operators first.
constexpr std::array<std::string_view, 18> kOperators = {
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "=", "&"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<BreakToken>> read() {
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
        ++at_;
      if (at_ == text_.size()) break;
      if (auto error = read_one()) return *error;
    }
    tokens_.push_back({.kind = BreakTokenKind::end, .text = {}, .begin = at_, .end = at_});
    return std::move(tokens_);
  }

 private:
  std::optional<Error> read_one() {
    const char c = text_[at_];
    if (is_digit(c)) return read_number();
    if (is_letter(c)) return read_word();
    if (c == '\'' || c == '"') return read_quoted(c);
    for (const std::string_view op : kOperators)
      if (text_.substr(at_).starts_with(op)) {
        if (op == "=" || op == "&")
          return fail(at_ + 1, fmt::format("\"{0}\" is not an operator, expected \"{0}{0}\"", op));
        add(BreakTokenKind::op, at_ + op.size());
        return std::nullopt;
      }
    return fail(at_ + 1, "expected a field, a number or an operator");
  }

  std::optional<Error> read_number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto read = std::from_chars(begin, end, value);
    const std::size_t stop = at_ + static_cast<std::size_t>(read.ptr - begin);
    if (read.ec != std::errc{}) return fail(stop, "the number does not fit 64 bits");
    if (stop < text_.size() && is_letter(text_[stop])) {
      // A request may be called "7b".
      return read_word();
    }
    add(BreakTokenKind::number, stop);
    tokens_.back().number = value;
    return std::nullopt;
  }

  // After == and != a word may contain hyphens, as slugs of rules do.
  std::optional<Error> read_word() {
    const bool compared =
        !tokens_.empty() && (tokens_.back().text == "==" || tokens_.back().text == "!=");
    std::size_t end = at_;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool inside = end + 1 < text_.size() && is_letter(text_[end + 1]);
      if (!is_letter(c) && !is_digit(c) && !(c == '.' && inside) &&
          !(c == '-' && compared && inside))
        break;
      ++end;
    }
    add(BreakTokenKind::word, end);
    return std::nullopt;
  }

  std::optional<Error> read_quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail(text_.size(), "the quote is not closed");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    add(BreakTokenKind::word, end + 1);
    tokens_.back().text = word;
    tokens_.back().is_quoted = true;
    return std::nullopt;
  }

  void add(BreakTokenKind kind, std::size_t end) {
    tokens_.push_back({.kind = kind,
                       .text = std::string(text_.substr(at_, end - at_)),
                       .begin = at_,
                       .end = end});
    at_ = end;
  }
  Error fail(std::size_t end, const std::string& message) const {
    return break_error(text_, at_, end, message);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<BreakToken> tokens_;
};

// The marks are placed by characters, not bytes.
std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

Result<std::vector<BreakToken>> read_break_tokens(std::string_view text) {
  return Lexer(text).read();
}

Error break_error(std::string_view text, std::size_t begin, std::size_t end,
                  const std::string& message) {
  std::string shown(text);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  const std::size_t column = num_characters(text.substr(0, begin));
  const std::size_t width =
      std::max<std::size_t>(num_characters(text.substr(begin, end - begin)), 1);
  return invalid_input(
      fmt::format("{}\n  {}\n  {:{}}^{:~>{}}", message, shown, "", column, "", width - 1));
}

}  // namespace hybridscope
