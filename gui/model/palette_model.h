// What the command palette lists for the typed text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"
#include "gui/model/workbench.h"

namespace hybridscope {

// Finds the command of a key: the keys of the command table, read once.

class KeyMap {
 public:
  // Requires: every row's keys can be read and no two rows share one.
  KeyMap();
  // The command of a key; null: it has none.
  const CommandRow* find(const KeyChord& chord) const;

 private:
  std::vector<std::pair<KeyChord, const CommandRow*>> keys_;
};

// A panel, a command or a bookmark.
struct PaletteEntry {
  const CommandRow* row = nullptr;  // panel.show for a panel
  std::string argument = {};        // of the command; empty: the dialog asks for it
  std::string
      title;  // "Panel: Block tables", "Run: Go to step...", "Bookmark at step 3: too early"
  std::string_view id = {};                     // "block_tables", "run.go_to"; empty: a bookmark
  std::vector<std::size_t> highlights = {};     // bytes of the title that match, or
  std::vector<std::size_t> id_highlights = {};  // of the id, where that matches better
  bool changes_run = false;
  bool possible = true;
};

// The panels, commands and bookmarks whose title or id matches. Those that change the run come
// last. Before that the best kind of match counts, then panels come before the rest, then the best
// score. Titles with scattered letters of the query are listed only if nothing matches better, and
// none that changes or closes the run.
std::vector<PaletteEntry> palette_entries(const Workbench& workbench, std::string_view query);

// The search of the command palette: which titles match a few typed letters, and in which order.

// How well a query and a title agree, the best first. Spaces around the query and the case of ASCII
// letters do not count.
enum class MatchKind : std::uint8_t {
  whole,      // the query is the title
  begins,     // the title begins with the query, spaces aside
  words,      // each word of the query begins a word of the title, in the query's order
  inside,     // the title contains the query
  scattered,  // the title has the query's characters in their order
};

struct FuzzyMatch {
  MatchKind kind = MatchKind::scattered;
  std::int32_t score = 0;              // only good for comparing matches of one query and kind
  std::vector<std::size_t> positions;  // ascending: the bytes of the title to highlight
  friend bool operator==(const FuzzyMatch&, const FuzzyMatch&) = default;
};

// Finds the query's characters in order, anywhere in the title; spaces in the query and the case of
// ASCII letters are ignored. Of all matches the one with the best score: adjacent characters score
// more, more at the start of a word, most at the start of the title. An empty query begins every
// title, with score 0. Empty: no match.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

// Is the part somewhere in the text, ignoring the case of ASCII letters? An empty one is.
bool contains(std::string_view text, std::string_view part);

}  // namespace hybridscope
