// A naive engine for tests that drive it by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/naive_engine.h"

namespace hybridscope::test {

// Prompt tokens count up from `first`; output tokens are far from them.
inline std::vector<std::uint64_t> prompt_of(int length, std::uint64_t first = 1) {
  std::vector<std::uint64_t> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back(first + static_cast<std::uint64_t>(i));
  return tokens;
}

inline std::uint64_t output_of(int request, int position) {
  return static_cast<std::uint64_t>(1'000'000 * (request + 1) + position);
}

// An engine whose drafts and accepted counts a test sets between steps.
struct Bench {
  NaiveConfig config;
  std::map<int, int> accepted;  // request -> a; cut to d + 1, 1 if absent
  std::map<int, int> drafts;    // request -> length of every following draft list; K if absent

  Bench() { config.output_token = output_of; }
  NaiveEngine engine() {
    config.num_accepted = [this](int request, int, int d) {
      return accepted.contains(request) ? std::min(accepted.at(request), d + 1) : 1;
    };
    config.num_drafts = [this](int request, int) {
      return drafts.contains(request) ? drafts.at(request) : config.num_speculative_tokens;
    };
    return NaiveEngine(config);
  }
};

inline std::vector<std::string> texts(const NaiveStep& step) {
  std::vector<std::string> result;
  for (const NaiveViolation& violation : step.violations)
    result.push_back(violation.rule + ": " + violation.detail);
  return result;
}

}  // namespace hybridscope::test
