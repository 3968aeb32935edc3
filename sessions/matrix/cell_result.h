// What the scenarios of one cell showed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/matrix/checked_scenario.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/matrix_events.h"

namespace hybridscope {

enum class CellVerdict : std::uint8_t {
  safe,  // nothing was found, and every event that belongs to the cell happened
  has_findings,
  untested,  // nothing was found, but an event of the cell never happened
  refused,   // an engine does not start with these settings
  same,      // the reference makes another cell of it, which is the one that was run
};
// "safe", "findings", "untested", "refused", "same".
std::string_view verdict_name(CellVerdict verdict);

// A kind of finding, in how many scenarios, and the first of them.
struct CellFinding {
  FindingKind kind = {};
  std::int64_t scenarios = 0;
  std::int64_t first = 0;  // index of the scenario
  friend bool operator==(const CellFinding&, const CellFinding&) = default;
};

// A known bug that gives a scenario an error all by itself; or bugs that do so together, none of
// which can be left out.
struct CellFault {
  std::string bugs;  // "id" or "id+id"
  std::int64_t scenarios = 0;
  // The one with the fewest requests, and what they show there.
  std::int64_t index = 0;
  std::int64_t num_requests = 0;
  FindingKind kind = {};
  friend bool operator==(const CellFault&, const CellFault&) = default;
};

struct CellResult {
  MatrixCell cell = {};
  CellVerdict verdict = CellVerdict::safe;
  std::string note = {};  // refused: why; same: the other cell's name
  std::int64_t num_scenarios = 0;
  std::int64_t num_failing = 0;   // of them with an error
  std::int64_t num_in_bytes = 0;  // of them, with state in bytes too
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  EventCounts events = {};
  std::vector<MatrixEvent> missing = {};   // events of the cell that never happened
  std::vector<CellFinding> findings = {};  // by kind
  // Of the first kMaxExplained failing scenarios: what explains them, by name; and what was found
  // in those that no bug of the profile explains.
  std::vector<CellFault> faults = {};
  std::vector<CellFinding> unexplained = {};
  friend bool operator==(const CellResult&, const CellResult&) = default;
};

}  // namespace hybridscope
