// Known bugs as Markdown: the page docs/known-bugs.md, and single bugs for review comments.
#pragma once

#include <span>
#include <string>

#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_run.h"

namespace hybridscope {

// "open", "until 2026-08-06", "2026-01-30 to 2026-04-11", or "-" if it never occurs.
std::string life_text(const BugLife& life);

// "0.24.0 to 0.26.0", "from 0.24.0 on", "no release".
std::string releases_text(const ReleaseSpan& releases);

// "`aligned_split` = `until_last_cache_position`", joined by "and".
std::string policies_text(const KnownBug& bug);

// Title, facts, mechanism, the faulty scenario as a file, and what the run found. Headings begin at
// `level`. `run`: the run of `exhibit`.
std::string bug_as_markdown(const BugExhibit& exhibit, const BugRun& run, int level = 2);

// One row per bug: number, id, what goes wrong, and its dates with each runner.
std::string bugs_as_markdown_table(std::span<const BugExhibit> exhibits);

// The whole page: a table of all bugs, then each bug. Error: a bug that cannot be read or run.
Result<std::string> known_bugs_page();

}  // namespace hybridscope
