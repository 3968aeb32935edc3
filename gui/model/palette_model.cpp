#include "gui/model/palette_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "gui/model/fuzzy_match.h"

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

}  // namespace hybridscope
