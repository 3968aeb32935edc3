#include "sessions/plan/shell_words.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

constexpr std::string_view kSpaces = " \t\n\r";
constexpr std::string_view kEndsCommand = ";&|<>()";
constexpr std::string_view kEscapedInDoubleQuotes = "$`\"\\\n";

class ShellLine {
 public:
  explicit ShellLine(std::string_view text) : text_(text) {}

  Result<ShellWords> split() {
    ShellWords result;
    while (true) {
      std::string before = take_space();
      if (at_end()) {
        result.after = std::move(before);
        return result;
      }
      if (text_[at_] == '#')
        return invalid_input("'#' outside quotes begins a comment; leave it out");
      ShellWord word{.before = std::move(before), .raw = {}, .value = {}};
      if (Status taken = take_word(word); !taken.ok()) return taken.error();
      result.words.push_back(std::move(word));
    }
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool at_joined_line() const { return text_.substr(at_).starts_with("\\\n"); }

  std::string take_space() {
    const std::size_t from = at_;
    while (!at_end()) {
      if (at_joined_line())
        at_ += 2;
      else if (kSpaces.find(text_[at_]) != kSpaces.npos || text_.substr(at_) == "\\")
        ++at_;
      else
        break;
    }
    return std::string(text_.substr(from, at_ - from));
  }

  Status take_word(ShellWord& word) {
    const std::size_t from = at_;
    while (!at_end() && kSpaces.find(text_[at_]) == kSpaces.npos) {
      const char c = text_[at_];
      if (kEndsCommand.find(c) != kEndsCommand.npos)
        return invalid_input(fmt::format("'{}' outside quotes ends the command", c));
      if (c == '\'' || c == '"') {
        if (Status taken = take_quoted(c, word.value); !taken.ok()) return taken;
      } else if (at_joined_line()) {
        at_ += 2;
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        word.value += text_[at_ + 1];
        at_ += 2;
      } else {
        word.value += c;
        ++at_;
      }
    }
    word.raw = std::string(text_.substr(from, at_ - from));
    return Ok{};
  }

  Status take_quoted(char quote, std::string& value) {
    ++at_;
    while (!at_end() && text_[at_] != quote) {
      const bool escapes =
          quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
          kEscapedInDoubleQuotes.find(text_[at_ + 1]) != kEscapedInDoubleQuotes.npos;
      if (escapes) ++at_;
      if (!(escapes && text_[at_] == '\n')) value += text_[at_];
      ++at_;
    }
    if (at_end()) return invalid_input(fmt::format("a quote ({}) is not closed", quote));
    ++at_;
    return Ok{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<ShellWords> split_shell_words(std::string_view line) { return ShellLine(line).split(); }

std::string join_shell_words(const ShellWords& line) {
  std::string text;
  for (const ShellWord& word : line.words) text += word.before + word.raw;
  return text + line.after;
}

}  // namespace hybridscope
