#include "gui/model/fuzzy_match.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hybridscope {
namespace {

constexpr std::int32_t kMatched = 1;
constexpr std::int32_t kWordStart = 6;
constexpr std::int32_t kTitleStart = 8;
constexpr std::int32_t kSideBySide = 5;
constexpr std::int32_t kNoMatch = -1;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of UTF-8 beyond ASCII belong to words.
bool is_word(char c) { return is_lower(c) || is_upper(c) || is_digit(c) || (c & 0x80) != 0; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// A word begins after a character that is not part of a word, and at the hump of "blockTable".
std::int32_t place_bonus(std::string_view title, std::size_t at) {
  if (at == 0) return kTitleStart;
  const char before = title[at - 1];
  const bool begins = is_word(title[at]) && !is_word(before);
  const bool hump = is_upper(title[at]) && is_lower(before);
  return begins || hump ? kWordStart : 0;
}

// The best score with a query character at a place in the title, and the place of the character
// before it.
struct Cell {
  std::int32_t score = kNoMatch;
  std::size_t before = 0;
};
using Row = std::vector<Cell>;  // [title.size()] for one character of the query

// The row of a character, from the row of the character before it.
Row next_row(char wanted, std::string_view title, const Row* previous) {
  Row row(title.size());
  Cell best_before{.score = previous == nullptr ? 0 : kNoMatch, .before = 0};
  for (std::size_t at = 0; at < title.size(); ++at) {
    const bool beside = previous != nullptr && at > 0 && (*previous)[at - 1].score != kNoMatch;
    if (lower(title[at]) == wanted) {
      Cell cell = best_before;
      if (beside && (*previous)[at - 1].score + kSideBySide >= cell.score)
        cell = {.score = (*previous)[at - 1].score + kSideBySide, .before = at - 1};
      if (cell.score != kNoMatch) {
        cell.score += kMatched + place_bonus(title, at);
        row[at] = cell;
      }
    }
    if (beside && (*previous)[at - 1].score > best_before.score)
      best_before = {.score = (*previous)[at - 1].score, .before = at - 1};
  }
  return row;
}

FuzzyMatch trace_back(const std::vector<Row>& rows) {
  const auto better = [](const Cell& a, const Cell& b) { return a.score < b.score; };
  const auto best = std::max_element(rows.back().begin(), rows.back().end(), better);
  FuzzyMatch match{.score = best->score, .positions = std::vector<std::size_t>(rows.size())};
  auto at = static_cast<std::size_t>(best - rows.back().begin());
  for (std::size_t i = rows.size(); i-- > 0;) {
    match.positions[i] = at;
    at = rows[i][at].before;
  }
  return match;
}

}  // namespace

std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title) {
  std::string wanted;
  for (const char c : query)
    if (c != ' ') wanted += lower(c);
  if (wanted.empty()) return FuzzyMatch{};
  if (wanted.size() > title.size()) return std::nullopt;
  std::vector<Row> rows;
  for (const char c : wanted) {
    rows.push_back(next_row(c, title, rows.empty() ? nullptr : &rows.back()));
    const auto matched = [](const Cell& cell) { return cell.score != kNoMatch; };
    if (std::none_of(rows.back().begin(), rows.back().end(), matched)) return std::nullopt;
  }
  return trace_back(rows);
}

std::vector<RankedMatch> rank_titles(std::string_view query,
                                     const std::vector<std::string_view>& titles) {
  std::vector<RankedMatch> ranked;
  for (std::size_t i = 0; i < titles.size(); ++i)
    if (auto match = fuzzy_match(query, titles[i]))
      ranked.push_back({.index = i, .match = std::move(*match)});
  if (query.find_first_not_of(' ') == std::string_view::npos) return ranked;
  std::stable_sort(ranked.begin(), ranked.end(), [&](const RankedMatch& a, const RankedMatch& b) {
    if (a.match.score != b.match.score) return a.match.score > b.match.score;
    return titles[a.index].size() < titles[b.index].size();
  });
  return ranked;
}

}  // namespace hybridscope
