// A known bug as users see it: a description, and a scenario that shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// A known bug, or a part of one, that has no entry, and why.
struct LeftOutBug {
  std::int32_t number = 0;
  std::string_view id;
  std::string_view reason;  // as half a sentence
  // The part of a bug that otherwise has an entry; empty: the whole bug.
  std::string_view part = {};
};

std::span<const LeftOutBug> left_out_bugs();

// What a report to the maintainers of the newest release says beyond the exhibit (bug_report.h).
struct ReportedBug {
  std::string place = {};                   // file, line and function in the newest release
  std::string when = {};                    // runners, modes and settings that it needs
  std::string tried = {};                   // with what the test was run, and how it failed
  std::vector<std::string> not_tried = {};  // sentences
};

struct BugExhibit {
  const KnownBug* bug = nullptr;  // its row in the table of known bugs
  std::string title = {};
  std::vector<std::string> upstream = {};  // "vLLM #51113"; empty: never reported
  std::string function = {};               // the reference's function, with its file
  std::string dates = {};      // what is known of its dates beyond the table; may be empty
  std::string users_saw = {};  // one sentence
  std::vector<std::string> mechanism = {};  // three sentences
  std::optional<ReportedBug> report = {};   // of a bug that the newest release has
  // Under `safe` it is the healthy run; `expect` says what the faulty run does.
  Scenario scenario = {};
};

// The scenario with the bug's policies set.
Scenario faulty_scenario(const BugExhibit& exhibit);
// The scenario under `safe`; it expects no finding.
Scenario healthy_scenario(const BugExhibit& exhibit);

struct BugText {
  std::string_view text;
  std::string_view file;  // its stem is the bug's id
};

// Errors: those of parse_scenario; also a file that is not named after a row of the table, a
// mechanism that does not have three sentences, a report of a bug that the newest release does not
// have, a scenario that expects nothing or sets a profile
// or policies.
Result<BugExhibit> parse_bug(const BugText& bug);

// The file of the bug in integrations/vllm/bug_tests, a test of vLLM that fails where the bug is;
// empty: it has none.
std::string_view shipped_bug_test(std::string_view id);

// A bug of scenarios/bugs, which are built into the program. Error not_found: that of
// find_known_bug.
Result<BugExhibit> shipped_bug(std::string_view name);

}  // namespace hybridscope
