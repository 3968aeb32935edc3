// The search for the known bug behind a finding, on a thread of its own.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/shown_run.h"
#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {

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
