// How a known bug changes what a language model says: both runs' texts, where they part, and the
// first state that is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sessions/known_bugs/bug_run.h"

namespace hybridscope {

// One request of both runs.
struct SpokenComparison {
  std::string request;
  std::string prompt;
  std::string healthy;
  std::string faulty;
  bool differs = false;
  std::size_t first = 0;       // generated token where they part, or where the shorter one ends
  std::int64_t step = 0;       // that sampled it in the faulty run; 0: it did not
  double mean_divergence = 0;  // KL(lone run || faulty run), nats
  double most_divergence = 0;
};

struct SpokenBug {
  std::vector<SpokenComparison> requests;
  std::string first_wrong;  // the first finding about a state or logits; empty: none is wrong
  std::string reason;       // why no answer is another one; empty: not known
  bool says_something_else() const;
  // "one of 2 requests gives another answer", "a state is wrong, the answers are the same", ...
  std::string verdict() const;
};

// Requires: both sides have texts.
SpokenBug spoken_bug(const BugRun& run);

// The section of docs/known-bugs.md: one row a bug, (id, what it changes).
std::string spoken_bugs_section(std::span<const std::pair<std::string, SpokenBug>> bugs);

// Several lines, each with a newline.
std::string format_spoken_bug(const SpokenBug& bug);
nlohmann::ordered_json spoken_bug_json(const SpokenBug& bug);

}  // namespace hybridscope
