#include "gui/model/palette_model.h"

#include <fmt/core.h>
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {
namespace {

// A title and the part of it by which people name the entry.
struct Candidate {
  PaletteEntry entry;
  std::size_t name_at = 0;  // where that part begins: past "Run: "
  bool is_panel = false;
};

Candidate named(PaletteEntry entry, std::string_view group, std::string_view name) {
  Candidate candidate{.entry = std::move(entry)};
  if (!group.empty()) candidate.entry.title = fmt::format("{}: ", group);
  candidate.name_at = candidate.entry.title.size();
  candidate.entry.title += name;
  return candidate;
}

std::vector<Candidate> all_candidates(const Workbench& workbench) {
  std::vector<Candidate> all;
  const CommandRow* show = find_command("panel.show");
  for (const PanelInfo& panel : workbench.view().panels) {
    all.push_back(named({.row = show, .argument = std::string(panel.id), .id = panel.id}, "Panel",
                        panel.title));
    all.back().is_panel = true;
  }
  for (const CommandRow* row : all_commands())
    all.push_back(named({.row = row, .id = row->id, .changes_run = changes_run(*row)}, row->menu,
                        row->title));
  if (workbench.run() == nullptr) return all;
  const CommandRow* go_to = find_command("run.go_to");
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(*workbench.run())) {
    std::string note = bookmark.note;
    std::ranges::replace(note, '\n', ' ');
    const std::string words =
        fmt::format("Bookmark at step {}{}{}", bookmark.step, note.empty() ? "" : ": ", note);
    all.push_back(named({.row = go_to, .argument = fmt::format("{}", bookmark.step)}, "", words));
  }
  return all;
}

bool is_better(const FuzzyMatch& a, const FuzzyMatch& b) {
  return a.kind != b.kind ? a.kind < b.kind : a.score > b.score;
}

struct Matched {
  FuzzyMatch match;
  bool is_of_id = false;  // the positions are bytes of the id, else of the title
};

// The best match of the query with the name, the whole title or the id. Empty: none matches.
std::optional<Matched> match_of(std::string_view query, const Candidate& candidate) {
  const std::string_view title = candidate.entry.title;
  std::optional<FuzzyMatch> best = fuzzy_match(query, title.substr(candidate.name_at));
  if (best)
    for (std::size_t& at : best->positions) at += candidate.name_at;
  std::optional<FuzzyMatch> whole = fuzzy_match(query, title);
  if (whole && (!best || is_better(*whole, *best))) best = std::move(whole);
  std::optional<FuzzyMatch> id = fuzzy_match(query, candidate.entry.id);
  if (id && (!best || id->kind < best->kind)) return Matched{*std::move(id), true};
  if (best) return Matched{*std::move(best), false};
  return std::nullopt;
}

struct Found {
  const Candidate* candidate = nullptr;
  FuzzyMatch match;
  bool is_of_id = false;
};

bool comes_before(const Found& a, const Found& b) {
  const auto rank = [](const Found& found) {
    const Candidate& candidate = *found.candidate;
    return std::tuple(candidate.entry.changes_run, found.match.kind, !candidate.is_panel,
                      -found.match.score, candidate.entry.title.size() - candidate.name_at);
  };
  return rank(a) < rank(b);
}

}  // namespace

KeyMap::KeyMap() {
  for (const CommandRow* row : all_commands()) {
    const auto chords = read_key_chords(row->keys);
    for (const KeyChord& chord : chords.value()) {
      HS_EXPECT(find(chord) == nullptr);
      keys_.emplace_back(chord, row);
    }
  }
}

const CommandRow* KeyMap::find(const KeyChord& chord) const {
  for (const auto& [key, row] : keys_)
    if (key == chord) return row;
  return nullptr;
}

std::vector<PaletteEntry> palette_entries(const Workbench& workbench, std::string_view query) {
  const bool typed = query.find_first_not_of(' ') != std::string_view::npos;
  const std::vector<Candidate> all = all_candidates(workbench);
  std::vector<Found> found;
  for (const Candidate& candidate : all)
    if (auto matched = match_of(query, candidate))
      found.push_back({&candidate, std::move(matched->match), matched->is_of_id});
  const auto is_scattered = [](const Found& f) { return f.match.kind == MatchKind::scattered; };
  const bool only_scattered = std::ranges::all_of(found, is_scattered);
  std::erase_if(found, [&](const Found& f) {
    const CommandRow& row = *f.candidate->entry.row;
    return is_scattered(f) && (!only_scattered || changes_run(row) || may_leave_run(row));
  });
  const auto before = [&](const Found& a, const Found& b) {
    if (typed) return comes_before(a, b);
    return a.candidate->entry.changes_run < b.candidate->entry.changes_run;
  };
  std::ranges::stable_sort(found, before);
  std::vector<PaletteEntry> entries;
  for (Found& f : found) {
    PaletteEntry& entry = entries.emplace_back(f.candidate->entry);
    (f.is_of_id ? entry.id_highlights : entry.highlights) = std::move(f.match.positions);
    entry.possible = is_possible(*entry.row, workbench);
    if (!entry.row->argument.empty() && entry.argument.empty()) entry.title += "...";
  }
  return entries;
}

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

std::string lower_case(std::string_view text) {
  std::string words(text);
  std::ranges::transform(words, words.begin(), lower);
  return words;
}

// A word begins after a character that is not part of a word, and at the hump of "blockTable".
bool begins_word(std::string_view title, std::size_t at) {
  if (at == 0) return true;
  const char before = title[at - 1];
  const bool begins = is_word(title[at]) && !is_word(before);
  const bool hump = is_upper(title[at]) && is_lower(before);
  return begins || hump;
}

std::int32_t place_bonus(std::string_view title, std::size_t at) {
  if (at == 0) return kTitleStart;
  return begins_word(title, at) ? kWordStart : 0;
}

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

using Places = std::vector<std::size_t>;

void add_run(Places& places, std::size_t from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) places.push_back(from + i);
}

// The beginning of the title, as long as the query; spaces of both are skipped.
Places of_beginning(std::string_view query, std::string_view title) {
  const auto wanted =
      static_cast<std::size_t>(std::ranges::count_if(query, [](char c) { return c != ' '; }));
  Places places;
  for (std::size_t at = 0; places.size() < wanted; ++at)
    if (title[at] != ' ') places.push_back(at);
  return places;
}

// Where each word of the query begins a word of the title, one after the other; empty: not all do.
// Both in lower case; `title` keeps its case for humps.
Places of_words(std::string_view query, std::string_view title, std::string_view lower_title) {
  Places places;
  std::size_t at = 0;
  while (!query.empty()) {
    const std::string_view word = query.substr(0, query.find(' '));
    while (at < title.size() &&
           !(begins_word(title, at) && lower_title.substr(at).starts_with(word)))
      ++at;
    if (at == title.size()) return {};
    add_run(places, at, word.size());
    at += word.size();
    query = without_spaces_around(query.substr(word.size()));
  }
  return places;
}

// A query that the title contains, without its spaces.
Places of_inside(std::string_view query, std::size_t at) {
  Places places;
  for (std::size_t i = 0; i < query.size(); ++i)
    if (query[i] != ' ') places.push_back(at + i);
  return places;
}

// Sets the kind of match of a query whose characters the title has in their order, and the places
// that make it one of that kind.
void set_kind(FuzzyMatch& match, std::string_view typed, std::string_view title) {
  const std::string query = lower_case(without_spaces_around(typed));
  const std::string lower_title = lower_case(title);
  if (without_spaces(lower_title).starts_with(without_spaces(query))) {
    match.kind = query == lower_title ? MatchKind::whole : MatchKind::begins;
    match.positions = of_beginning(query, title);
  } else if (Places places = of_words(query, title, lower_title); !places.empty()) {
    match.kind = MatchKind::words;
    match.positions = std::move(places);
  } else if (const std::size_t at = lower_title.find(query); at != std::string::npos) {
    match.kind = MatchKind::inside;
    match.positions = of_inside(query, at);
  } else {
    match.kind = MatchKind::scattered;
  }
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
  const std::string wanted = without_spaces(lower_case(query));
  if (wanted.empty()) return FuzzyMatch{.kind = MatchKind::begins};
  if (wanted.size() > title.size()) return std::nullopt;
  std::vector<Row> rows;
  for (const char c : wanted) {
    rows.push_back(next_row(c, title, rows.empty() ? nullptr : &rows.back()));
    const auto matched = [](const Cell& cell) { return cell.score != kNoMatch; };
    if (std::none_of(rows.back().begin(), rows.back().end(), matched)) return std::nullopt;
  }
  FuzzyMatch match = trace_back(rows);
  set_kind(match, query, title);
  return match;
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return part.empty() ||
         std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace hybridscope
