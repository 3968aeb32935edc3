// Known bugs as Markdown: docs/known-bugs.md, and one of them for a review comment.
#pragma once

#include <span>
#include <string>

#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_run.h"

namespace hybridscope {

// "open", "until 2026-08-06", "2026-01-30 to 2026-04-11", "-" where it never occurs.
std::string life_text(const BugLife& life);

// "`aligned_split` = `until_last_cache_position`", joined by "and".
std::string policies_text(const KnownBug& bug);

// Title, facts, mechanism, the faulty scenario as a file, and what the run found; headings of the
// given level and below. `run`: of the exhibit.
std::string bug_as_markdown(const BugExhibit& exhibit, const BugRun& run, int level = 2);

// Number, id, what goes wrong, and when it lived with each runner: a row a bug.
std::string bugs_as_markdown_table(std::span<const BugExhibit> exhibits);

// The whole page: a table of all, then each. Error: one that cannot be read or run.
Result<std::string> known_bugs_page();

}  // namespace hybridscope
