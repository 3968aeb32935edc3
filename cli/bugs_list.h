// `hybridscope bugs`: lists, shows and runs the catalogue of known bugs.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/settings_options.h"
#include "sessions/known_bugs/bug_exhibit.h"

namespace hybridscope {

// What the subcommands of hybridscope bugs have in common.

struct BugsSubcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;  // the exit code
};

inline constexpr std::size_t kBugTitleColumns = 84;

// Reports the error and returns the exit code: an unknown name is a usage error.
int fail_bugs(std::string_view subcommand, const Error& error);

// {id, number, part, title, upstream, function, policies, v1, v2, dates, users_saw, mechanism}.
nlohmann::ordered_json bug_to_json(const BugExhibit& exhibit);

void print_bugs_json(const nlohmann::ordered_json& json);

// Adds the subcommands; the result runs the one that was given. `backends` must outlive it.
std::function<int()> add_bugs_command(CLI::App& bugs, const Backends& backends);

}  // namespace hybridscope
