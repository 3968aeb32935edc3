// Runs bugs with and without their faults, and compares both runs with their files.
#pragma once

#include <string>

#include "cli/bugs_list.h"
#include "sessions/job/backends.h"
#include "sessions/known_bugs/bug_exhibit.h"

namespace hybridscope {

// `hybridscope bugs show ID --report` and `--test`.

// Prints what the maintainers of a release need; of a release without the bug, since when it is
// mended. `release`: "0.33.0"; empty: the newest. Returns the exit code.
int print_bug_report(const BugExhibit& exhibit, const std::string& release);

// Prints the bug's test of vLLM; without one, reports a usage error. Returns the exit code.
int print_bug_test(const BugExhibit& exhibit);

// `backends` must outlive it.
BugsSubcommand add_bugs_run(CLI::App& bugs, const Backends& backends);

}  // namespace hybridscope
