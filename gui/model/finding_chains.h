// Which finding of a run follows from which, and what is behind the first of a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/explain/root_decision.h"

namespace hybridscope {

class Workbench;

bool is_first_of(const FindingChain& chain, std::size_t index);
// "first, 38 follow", "first, 81 follow; 20 of 81 shown", or "from 5": the step of the first, from
// which the finding at `index` follows.
std::string chain_words(const FindingChain& chain, std::size_t index);

// A row of the list: findings of one chain that differ only in group and kind of state are told in
// one (explain_findings).
struct FindingRow {
  ShownFinding shown;                // the first; its text tells them all
  std::vector<std::size_t> members;  // indices of run.findings()
  std::string chain;                 // chain_words()
  bool is_first = false;             // of its chain
};
// A sentence on all of them, empty: there is none to say (fresh_arrays_words).
std::string findings_note(const ShownRun& run);
// In the order of their first findings.
std::vector<FindingRow> finding_rows(const ShownRun& run);

// The list of all findings so far. Requires: a step is shown.
Picture findings_picture(Workbench& workbench);

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
