#include "sessions/plan/shell_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kSeparators = ";&|()";
constexpr std::string_view kRedirections = "<>";
constexpr std::string_view kEscapedInDoubleQuotes = "$`\"\\\n";
constexpr std::string_view kGoesOn = "\\`^";
constexpr std::size_t kLongestPrompt = 100;

bool is_one_of(std::string_view set, char c) { return set.find(c) != set.npos; }

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "(venv) user@host:~/x$ ", "[root@node ~]# ", "$ ", "> " at the start of a line; 0: none. A "#"
// without a user before it begins a comment.
std::size_t prompt_length(std::string_view line) {
  line = line.substr(0, std::min(line.find('\n'), kLongestPrompt));
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (is_one_of("'\"=", line[i])) return 0;
    if (!is_one_of("$#%>", line[i]) || line[i + 1] != ' ') continue;
    const std::string_view user = line.substr(0, i).substr(0, line.find(' '));
    if (line.find_first_not_of(' ') == i) return line[i] == '#' ? 0 : i + 2;
    return user.find('@') != user.npos || is_one_of("([", line.front()) ? i + 2 : 0;
  }
  return 0;
}

// Splits one text.
class ShellText {
 public:
  explicit ShellText(std::string_view text) : text_(text) {}

  Result<ShellWords> split() {
    skip_prompt();
    while (true) {
      if (Status between = skip_between(); !between.ok()) return between.error();
      if (at_end()) break;
      ShellWord word;
      if (Status taken = take_word(word); !taken.ok()) return taken.error();
      // "2" of "2>&1" is no word.
      if (is_number(word.raw) && !at_end() && is_one_of(kRedirections, text_[at_])) continue;
      word.before = std::string(text_.substr(kept_, at_ - kept_ - word.raw.size()));
      word.command = command_;
      command_has_words_ = true;
      kept_ = at_;
      result_.words.push_back(std::move(word));
    }
    result_.after = std::string(text_.substr(kept_));
    return std::move(result_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }

  // The length of a backslash with the end of its line; 0: none is here.
  std::size_t joined_line() const {
    if (!is_one_of(kGoesOn, text_[at_])) return 0;
    const std::size_t end = text_.find_first_not_of(kBlanks, at_ + 1);
    if (end == text_.npos) return text_[at_] == '\\' ? text_.size() - at_ : 0;
    return text_[end] == '\n' ? end + 1 - at_ : 0;
  }

  std::size_t indentation() const {
    const std::size_t line = text_.rfind('\n', at_) + 1;  // npos + 1 is 0
    const std::size_t first = std::min(text_.find_first_not_of(kBlanks, line), text_.size());
    return first - line;
  }

  void end_command() {
    if (command_has_words_) ++command_;
    command_has_words_ = false;
  }

  void skip_prompt() { at_ += prompt_length(text_.substr(at_)); }

  void end_line() {
    ++at_;
    const std::size_t first = text_.find_first_not_of(" \t\r\n", at_);
    if (first == text_.npos) return;
    const std::size_t line = text_.rfind('\n', first) + 1;
    const bool goes_on = text_[first] == '-' || first - line > command_indentation_;
    if (command_has_words_ && goes_on) return;
    end_command();
    at_ = line;
    skip_prompt();
  }

  Status skip_between() {
    while (!at_end()) {
      const char c = text_[at_];
      if (const std::size_t joined = joined_line(); joined > 0) {
        at_ += joined;
        if (text_.substr(at_).starts_with("> ")) at_ += 2;  // a shell's second prompt
      } else if (c == '\n') {
        end_line();
      } else if (is_one_of(kBlanks, c)) {
        ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_one_of(kRedirections, c) || text_.substr(at_).starts_with("&>")) {
        if (Status skipped = skip_redirection(); !skipped.ok()) return skipped;
      } else if (is_one_of(kSeparators, c)) {
        ++at_;
        end_command();
      } else {
        break;
      }
    }
    if (!command_has_words_ && !at_end()) command_indentation_ = indentation();
    return Ok{};
  }

  // "> file", "2>&1", "&>> file".
  Status skip_redirection() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t end = rest.find_first_of("> \t\n", 1);
    if (rest.front() == '<' && end != rest.npos && end > 1 && rest[end] == '>')
      return invalid_input(fmt::format("{} is a placeholder: put its value there",
                                       quoted_text(rest.substr(0, end + 1))));
    at_ = std::min(text_.find_first_not_of("<>&|", at_), text_.size());
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    ShellWord target;
    return take_word(target);
  }

  Status take_word(ShellWord& word) {
    const std::size_t from = at_;
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '\n' || is_one_of(kBlanks, c) || is_one_of(kSeparators, c) ||
          is_one_of(kRedirections, c))
        break;
      if (const std::size_t joined = joined_line(); joined > 0) {
        if (at_ + joined == text_.size()) break;  // what is added stands before the backslash
        at_ += joined;
        continue;
      }
      if (c == '\'' || c == '"') {
        if (Status taken = take_quoted(c, word.value); !taken.ok()) return taken;
      } else if (c == '$' || c == '`') {
        if (Status taken = take_expansion(word.value); !taken.ok()) return taken;
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
      const bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           is_one_of(kEscapedInDoubleQuotes, text_[at_ + 1]);
      if (escapes) ++at_;
      if (!(escapes && text_[at_] == '\n')) value += text_[at_];
      ++at_;
    }
    if (at_end()) return invalid_input(fmt::format("a quote ({}) is not closed", quote));
    ++at_;
    return Ok{};
  }

  // $(command), ${NAME:-value} and `command` are parts of a word, as they are written.
  Status take_expansion(std::string& value) {
    const std::string_view rest = text_.substr(at_);
    const char close = rest.starts_with("$(")   ? ')'
                       : rest.starts_with("${") ? '}'
                       : rest.front() == '`'    ? '`'
                                                : '\0';
    if (close == '\0') {
      value += text_[at_++];
      return Ok{};
    }
    std::size_t depth = 1;
    std::size_t end = close == '`' ? 1 : 2;
    for (; end < rest.size() && depth > 0; ++end) {
      if (rest[end] == close)
        --depth;
      else if (close != '`' && rest[end] == rest[1])
        ++depth;
    }
    if (depth > 0)
      return invalid_input(fmt::format("'{}' is not closed", rest.substr(0, close == '`' ? 1 : 2)));
    value += rest.substr(0, end);
    at_ += end;
    return Ok{};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t kept_ = 0;  // the text before it belongs to words
  std::size_t command_ = 0;
  std::size_t command_indentation_ = 0;
  bool command_has_words_ = false;
  ShellWords result_;
};

}  // namespace

namespace {

// "7" and ">log" that are together "7>log" would be a redirection of file 7.
void append(std::string& text, std::string_view piece) {
  const bool redirects = !piece.empty() && is_one_of(kRedirections, piece.front());
  const std::size_t before = text.find_last_not_of("0123456789");
  const bool number = before != text.npos && before + 1 < text.size() && text[before] == ' ';
  if (redirects && number) text += ' ';
  text += piece;
}

}  // namespace

std::string join_shell_words(const ShellWords& line) {
  std::string text;
  for (const ShellWord& word : line.words) {
    append(text, word.before);
    text += word.raw;
  }
  append(text, line.after);
  return text;
}

Result<ShellWords> split_shell_words(std::string_view text) { return ShellText(text).split(); }

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != word.npos && equals > 0 && word.front() != '-' &&
         word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_abcdefghijklmnopqrstuvwxyz") == word.npos;
}

}  // namespace hybridscope
