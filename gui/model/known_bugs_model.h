// The catalogue of known bugs as a list, and one bug in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

class Workbench;

struct KnownBugRow {
  std::string id;
  std::string number;  // empty: none
  std::string v1;      // "until 2026-08-06", "open", "-"
  std::string v2;
  std::string title;
  std::vector<std::string> words;  // policy, what users saw, mechanism: a paragraph each
  friend bool operator==(const KnownBugRow&, const KnownBugRow&) = default;
};

// In the order of the table: the bug with number `filter`, else those whose id, title or words
// contain it (ignoring case).
std::vector<KnownBugRow> make_known_bugs_model(std::string_view filter = {});

// The bug that the run shows, if it is a bug's faulty run (judged by its title); empty: none.
std::string bug_shown_by(const ShownRun* run);

// The list, and in words the bug that the run shows.
Picture known_bugs_picture(Workbench& workbench);

}  // namespace hybridscope
