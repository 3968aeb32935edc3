#include "gui/model/palette_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "gui/model/fuzzy_match.h"

namespace hybridscope {

namespace {

std::vector<PaletteEntry> all_entries(const Workbench& workbench) {
  std::vector<PaletteEntry> entries;
  for (const CommandRow* row : all_commands())
    entries.push_back({.row = row,
                       .title = fmt::format("{}{}{}{}", row->menu, row->menu.empty() ? "" : ": ",
                                            row->title, row->argument.empty() ? "" : "...")});
  if (workbench.run() == nullptr) return entries;
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(*workbench.run())) {
    std::string note = bookmark.note;
    std::ranges::replace(note, '\n', ' ');
    entries.push_back({.row = find_command("run.go_to"),
                       .argument = fmt::format("{}", bookmark.step),
                       .title = fmt::format("Bookmark at step {}{}{}", bookmark.step,
                                            note.empty() ? "" : ": ", note)});
  }
  return entries;
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
  const std::vector<PaletteEntry> all = all_entries(workbench);
  std::vector<std::string_view> titles;
  for (const PaletteEntry& entry : all) titles.emplace_back(entry.title);
  std::vector<PaletteEntry> entries;
  for (RankedMatch& ranked : rank_titles(query, titles)) {
    PaletteEntry entry = all[ranked.index];
    entry.highlights = std::move(ranked.match.positions);
    entry.possible = is_possible(*entry.row, workbench);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace hybridscope
