// `hybridscope bugs`: lists and shows the catalogue of known bugs (bugs_list.cpp), and runs them
// with and without their faults (bugs_run.cpp).
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/common_options.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/run_options.h"
#include "sessions/known_bugs/bug_exhibit.h"

namespace hybridscope {

inline constexpr std::size_t kBugTitleColumns = 84;

// Reports the error and returns the exit code: an unknown name is a usage error.
int fail_bugs(std::string_view subcommand, const Error& error);

// Adds the subcommands; the result runs the one that was given. `backends` must outlive it.
std::function<int()> add_bugs_command(CLI::App& bugs, const Backends& backends);

// Prints what the maintainers of a release need; of a release without the bug, since when it is
// mended. `release`: "0.33.0"; empty: the newest. Returns the exit code.
int print_bug_report(const BugExhibit& exhibit, const std::string& release);

// Prints the bug's test of vLLM; without one, reports a usage error. Returns the exit code.
int print_bug_test(const BugExhibit& exhibit);

// `backends` must outlive it.
Subcommand add_bugs_run(CLI::App& bugs, const Backends& backends);

}  // namespace hybridscope
