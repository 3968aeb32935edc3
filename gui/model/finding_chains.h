// Which finding of a run follows from which, and what is behind the first of a chain: the decision,
// and the known bug, which is searched on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {

class Workbench;

bool is_first_of(const FindingChain& chain, std::size_t index);
// "first, 38 follow", "first, 81 follow; 20 of 81 shown", or "from 5": the step of the first, from
// which the finding at `index` follows.
std::string chain_words(const FindingChain& chain, std::size_t index);

// A sentence on all findings of the run, empty: there is none to say (fresh_arrays_words).
std::string findings_note(const ShownRun& run);

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

// The search for the known bug behind a finding, on a thread of its own.

// Request-steps of a search that nobody asked for: a tenth of a second at most. A longer one needs
// a click.
inline constexpr std::int64_t kMostUnaskedRequestSteps = 20'000;

class CauseJob {
 public:
  // Copies what it needs. `scope`: of the run's checks. Requires: no search is under way.
  void begin(const RunPlan& plan, const ShownFinding& finding, CheckScope scope);
  // Gives the search up; its thread ends by itself, at the latest with this object.
  void drop();
  bool is_busy() const { return search_.valid(); }

  struct Found {
    std::string finding;  // its text
    FindingCause cause;
  };
  // Once the search has ended; waits a millisecond for it.
  std::optional<Found> take();

 private:
  std::string finding_;
  std::future<FindingCause> search_;
  std::vector<std::future<FindingCause>> dropped_;  // that may still run
};

}  // namespace hybridscope
