// Small scenarios for tests of whole suites.
#pragma once

#include <string>

namespace hybridscope::test {

// One request, no findings, 3 steps.
std::string fine_scenario(const std::string& name);

// A faulty policy makes a request read another one's state: findings of running-state-wrong.
std::string faulty_scenario(const std::string& name);

// Runs without findings, but expects 99 steps.
std::string unmet_scenario(const std::string& name);

}  // namespace hybridscope::test
