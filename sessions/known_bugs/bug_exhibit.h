// A known bug as people meet it: words, and a scenario that shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct BugExhibit {
  const KnownBug* bug = nullptr;  // its row in the table
  std::string title = {};
  std::vector<std::string> upstream = {};  // "vLLM #51113"; empty: not reported
  std::string function = {};               // of the reference, with its file
  std::string dates = {};                  // what is known of its dates beyond the table; may be ""
  std::string users_saw = {};              // one sentence
  std::vector<std::string> mechanism = {};  // three sentences
  Scenario scenario =
      {};  // under `safe`: the healthy twin; `expect` tells what the faulty one does
};

// The scenario with the bug's policies set.
Scenario faulty_scenario(const BugExhibit& exhibit);
// The scenario under `safe`, expecting no finding.
Scenario healthy_scenario(const BugExhibit& exhibit);

struct BugText {
  std::string_view text;
  std::string_view file;  // its stem is the bug's id
};

// Errors as parse_scenario's; also a file that no row of the table is named after, a mechanism of
// other than three sentences, a scenario that expects nothing, or that sets a profile or policies.
Result<BugExhibit> parse_bug(const BugText& bug);

// Of scenarios/bugs, built into the program. Error not_found: find_known_bug's.
Result<BugExhibit> shipped_bug(std::string_view name);

}  // namespace hybridscope
