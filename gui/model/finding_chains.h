// Which finding of a run follows from which, and what is behind the first of a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gui/model/shown_run.h"
#include "sessions/explain/root_decision.h"

namespace hybridscope {

struct FindingChain {
  std::ptrdiff_t first =
      -1;  // index of the first finding of the chain; -1: a warning, which has none
  std::int64_t num_following = 0;  // the findings behind the first, up to the last known step
};

// For each of run.findings().
std::vector<FindingChain> finding_chains(const ShownRun& run);

bool is_first_of(const FindingChain& chain, std::size_t index);
// "first, 38 follow", or "from 5": the step of the first, from which the finding at `index`
// follows.
std::string chain_words(const ShownRun& run, const FindingChain& chain, std::size_t index);

// The decision behind the first finding of a chain (ShownFinding::decision). `context`: without a
// warning, which is found in `findings`, those of the run.
std::string decision_behind(const Finding& finding, RootContext context,
                            std::span<const ShownFinding> findings);

// What went wrong first in the chain of the finding at `index`: the decision, where it is known,
// else the finding. Empty: a warning.
struct ChainStart {
  std::int64_t step = 0;
  std::string words;
};
ChainStart chain_start(const ShownRun& run, std::size_t index);

}  // namespace hybridscope
