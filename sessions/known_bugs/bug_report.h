// What the maintainers of a release need to know of a bug that it has, as Markdown to paste.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_run.h"

namespace hybridscope {

// A runner that has the bug in the release, the one that the scenario runs with by default before
// the other; empty: the release does not have the bug.
std::optional<ModelRunner> runner_with(const BugExhibit& exhibit, Release release);

// "NAME is not in 0.33.0. Runner V1: 0.24.0 to 0.26.0, mended in 0.27.1. Runner V2: no release."
std::string absence_words(const KnownBug& bug, Release release);

// The exhibit's scenario with everything that the release does, with the runner, with prefix
// caching in modes all and align, and without the bug's policies; it expects the first finding of
// the bug's file alone, in any step. Errors: those of run_bug.
Result<BugSide> run_bug_in(const BugExhibit& exhibit, Release release, ModelRunner runner);

struct BugReportInput {
  const BugExhibit& exhibit;
  Release release = kNewestRelease;
  ModelRunner runner = ModelRunner::v1;  // one that has the bug in the release
  const Scenario& smallest;              // shows the bug by its policies alone
  std::string finding = {};              // of the smallest scenario, in words
  const Result<BugSide>& in_release;     // run_bug_in; an error is told
};

// One paragraph, the place, the smallest scenario, a test that fails and what was not tried.
std::string bug_report(const BugReportInput& input);

// Known bugs as Markdown: the page docs/known-bugs.md, and single bugs for review comments.

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

// The page: a table of all bugs, and those without an entry. Error: a bug that cannot be read.
Result<std::string> known_bugs_page();

}  // namespace hybridscope
