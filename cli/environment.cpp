#include "cli/environment.h"

#include <cstdlib>

namespace hybridscope {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

CiEnvironment read_ci_environment(const EnvironmentLookup& lookup) {
  CiEnvironment environment;
  environment.github_annotations = lookup("GITHUB_ACTIONS") == "true";
  if (environment.github_annotations) environment.step_summary = lookup("GITHUB_STEP_SUMMARY");
  return environment;
}

bool is_watched(const EnvironmentLookup& lookup, bool is_terminal) {
  const std::string ci = lookup("CI");
  const bool under_ci = !ci.empty() && ci != "0" && ci != "false";
  return is_terminal && !under_ci && lookup("TERM") != "dumb";
}

}  // namespace hybridscope
