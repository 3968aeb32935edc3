// Which finding of a run follows from which, and what is behind the first of a chain.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gui/model/shown_run.h"

namespace hybridscope {

// For each of run.findings() the index of the first of its chain; -1: a warning, which has none.
std::vector<std::ptrdiff_t> finding_chains(const ShownRun& run);

// "first", or "from 5": the step of the finding at `root`, from which the one at `index` follows.
std::string chain_words(const ShownRun& run, std::ptrdiff_t root, std::size_t index);

// The decision behind the first finding of a chain, while its step is shown; else empty.
std::string decision_behind(const ShownRun& run, const Finding& finding);

// What went wrong first in the chain of the finding at `index`: the decision, where it is known,
// else the finding. Empty: a warning.
struct ChainStart {
  std::int64_t step = 0;
  std::string words;
};
ChainStart chain_start(const ShownRun& run, std::size_t index);

}  // namespace hybridscope
