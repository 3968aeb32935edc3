// The environment variables that the command line reads; nothing else reads them.
#pragma once

#include <functional>
#include <string>

namespace hybridscope {

// The value of a variable, "" when it is not set.
using EnvironmentLookup = std::function<std::string(const char* name)>;

// A variable of this process's environment.
std::string environment_variable(const char* name);

// What the environment asks to be written for continuous integration.
struct CiEnvironment {
  bool github_annotations = false;  // GITHUB_ACTIONS=true
  std::string step_summary;         // GITHUB_STEP_SUMMARY under GitHub, a file; empty: none
};

CiEnvironment read_ci_environment(const EnvironmentLookup& lookup);

// Is a person watching a terminal? False under CI and on one that cannot erase (TERM=dumb).
bool is_watched(const EnvironmentLookup& lookup, bool is_terminal);

}  // namespace hybridscope
