#include "sessions/startup/log_text.h"

#include <algorithm>
#include <cctype>

namespace hybridscope {
namespace {

constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
constexpr char kEscape = '\x1B';

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._+-/").find(c) != std::string_view::npos;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// "\x1B[0;36m" and its like are left out.
std::string without_colours(std::string_view raw) {
  std::string plain;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw.substr(i).starts_with(kNoBreakSpace)) {
      plain += ' ';
      ++i;
    } else if (raw[i] == kEscape && i + 1 < raw.size() && raw[i + 1] == '[') {
      i = std::min(raw.find_first_not_of("0123456789;?", i + 2), raw.size());
    } else {
      plain += raw[i];
    }
  }
  return plain;
}

std::string without_blanks(std::string_view text) {
  std::string dense(text);
  std::erase_if(dense, is_blank);
  return dense;
}

// Does vLLM's logger begin a record here: "INFO 08-01 12:00:00 [core.py:1]", "(EngineCore pid=1)"?
bool begins_record(std::string_view line) {
  for (const std::string_view level : {"INFO ", "WARNING ", "ERROR ", "DEBUG ", "pid="}) {
    const std::size_t at = line.find(level);
    if (at == line.npos || at + level.size() >= line.size()) continue;
    const char next = line[at + level.size()];
    if (is_digit(next) || next == '[') return true;
  }
  return false;
}

}  // namespace

LogText::LogText(std::string_view raw) : plain_(without_colours(raw)) {
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    if (is_blank(plain_[i])) continue;
    dense_ += plain_[i];
    places_.push_back(static_cast<std::uint32_t>(i));
  }
}

std::size_t LogText::skip_line_ends(std::size_t at) const {
  while (at < dense_.size() && dense_[at] == '\n') ++at;
  return at;
}

// The longest number, over line ends only where the pattern goes on behind it.
bool LogText::match_number(std::size_t at, std::string_view rest, LogMatch& match) const {
  std::string number;
  std::size_t end = at;
  while (end < dense_.size()) {
    const std::size_t next = skip_line_ends(end);
    const bool goes_on = next < dense_.size() &&
                         (is_digit(dense_[next]) || dense_[next] == '.' || dense_[next] == ',');
    const bool is_over = next > end && rest.empty();
    if (!goes_on || is_over) break;
    number += dense_[next];
    end = next + 1;
  }
  // A point or comma behind it belongs to the sentence.
  while (!number.empty() && !is_digit(number.back())) {
    number.pop_back();
    --end;
  }
  if (number.empty()) return false;
  std::erase(number, ',');
  match.values.push_back(number);
  return this->match(end, rest, match);
}

bool LogText::match(std::size_t at, std::string_view pattern, LogMatch& match) const {
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern.front() == '#') return match_number(at, pattern.substr(1), match);
    if (pattern.front() == '*') {
      const std::size_t from = at;
      while (at < dense_.size() && is_of_word(dense_[at]) &&
             places_[at] - places_[from] == at - from)
        ++at;
      if (at == from) return false;
      match.values.push_back(dense_.substr(from, at - from));
      continue;
    }
    at = skip_line_ends(at);
    if (at >= dense_.size() || dense_[at] != pattern.front()) return false;
    ++at;
  }
  match.end = at;
  return true;
}

std::vector<LogMatch> LogText::find(std::string_view pattern) const {
  const std::string dense = without_blanks(pattern);
  std::vector<LogMatch> found;
  for (std::size_t at = dense_.find(dense[0]); at != dense_.npos;
       at = dense_.find(dense[0], at + 1)) {
    // Most places are told apart by two characters.
    const std::size_t second = skip_line_ends(at + 1);
    if (second >= dense_.size() || dense_[second] != dense[1]) continue;
    LogMatch here;
    if (!match(at, dense, here)) continue;
    here.begin = at;
    found.push_back(std::move(here));
  }
  return found;
}

std::string LogText::rest_of_record(const LogMatch& match) const {
  if (match.end >= places_.size()) return {};
  std::string_view text = std::string_view(plain_).substr(places_[match.end]);
  std::string record;
  for (bool is_first = true; !text.empty(); is_first = false) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!is_first && begins_record(line)) break;
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    while (!is_first && !line.empty() && is_blank(line.front())) line.remove_prefix(1);
    record += line;
  }
  return record;
}

}  // namespace hybridscope
