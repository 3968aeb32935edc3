// The result of a matrix cell: the events that must happen in it before it counts as tested, how
// they are counted, and what its scenarios found.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/trace/step_trace.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/scenario/scenario.h"
#include "sessions/shrink/probe_run.h"

namespace hybridscope {

enum class MatrixEvent : std::uint8_t {
  pre_copy,
  post_copy,
  same_block_shift,
  bias,
  hit,
  no_draft_step,
  padded_row,
  row_move,
  preemption,
  skipped_step,
  frame_rolled_back,
  cache_reset,
  checkpoint,
  block_copy,
};
inline constexpr std::size_t kNumMatrixEvents = 14;

struct MatrixEventInfo {
  MatrixEvent event{};
  std::string_view name{};
  std::string_view meaning{};
  // Must the event happen in this cell, under these policies, for the cell to count as tested?
  bool (*belongs_to)(const MatrixCell& cell, const PolicySet& policies) = nullptr;
  // How often the event happened in one step.
  std::int64_t (*count)(const StepTrace& trace, const EngineConfig& config) = nullptr;
};

// In the order of the enum.
std::span<const MatrixEventInfo> matrix_event_table();

// How often an event happened, and in how many scenarios.
struct EventCount {
  std::int64_t times = 0;
  std::int64_t scenarios = 0;
  friend bool operator==(const EventCount&, const EventCount&) = default;
};
using EventCounts = std::array<EventCount, kNumMatrixEvents>;

// Counts the events of one scenario, step by step.
class EventCounter {
 public:
  void add(const StepTrace& trace, const EngineConfig& config);
  void add_to(EventCounts& counts) const;

 private:
  std::array<std::int64_t, kNumMatrixEvents> times_ = {};
};

// The result of the scenarios of one cell.

// Makes the memory that holds the states in bytes beside the symbolic ones.
using MakeStateBackend = std::function<Result<std::unique_ptr<StateBackend>>(StateMemory memory)>;

struct CheckedScenario {
  std::set<FindingKind> errors;  // of severity error
  EventCounter events;
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
};

// A run with more steps counts as endless: rule no-progress.
inline constexpr std::int64_t kMaxMatrixSteps = 3000;

struct CheckScenarioOptions {
  MakeStateBackend make_backend = {};  // may be empty: symbolic state only
  // The run ends where all of these have been seen. Empty: at its end.
  std::set<FindingKind> until = {};
};

// Errors: what the plan or the engine refuses; those of the backend.
Result<CheckedScenario> check_scenario(const Scenario& scenario,
                                       const CheckScenarioOptions& options);

// Unless another number is asked for. With fewer, a cell without a finding is not called safe.
inline constexpr std::int64_t kScenariosPerCell = 48;

enum class CellVerdict : std::uint8_t {
  safe,  // no finding, and every event that belongs to the cell happened
  has_findings,
  untested,  // no finding, but an event of the cell never happened
  refused,   // no engine starts with these settings
  same,      // the reference turns it into another cell, which was run instead
};
// "safe", "findings", "untested", "refused", "same".
std::string_view verdict_name(CellVerdict verdict);

// A kind of finding: the number of scenarios that have it, and the first of them.
struct CellFinding {
  FindingKind kind = {};
  std::int64_t scenarios = 0;
  std::int64_t first = 0;  // index of the first scenario
  friend bool operator==(const CellFinding&, const CellFinding&) = default;
};

// A known bug, or several, or else policies of the engine that cause a chain of findings in a
// scenario.
struct CellFault {
  std::string cause;  // "id", "id or id", "id+id", "policy=value" (FindingCause::key)
  std::int64_t scenarios = 0;
  // The scenario with the fewest requests, and the kind of its error.
  std::int64_t index = 0;
  std::int64_t num_requests = 0;
  FindingKind kind = {};
  friend bool operator==(const CellFault&, const CellFault&) = default;
};

struct CellResult {
  MatrixCell cell = {};
  CellVerdict verdict = CellVerdict::safe;
  std::string note = {};  // refused: the reason; same: the other cell's name
  std::int64_t num_scenarios = 0;
  std::int64_t num_failing = 0;   // scenarios with an error
  std::int64_t num_in_bytes = 0;  // scenarios with state in bytes too
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  EventCounts events = {};
  std::vector<MatrixEvent> missing = {};   // events of the cell that never happened
  std::vector<CellFinding> findings = {};  // by kind
  // For the first kMaxExplained failing scenarios: the faults that explain them, by name, and the
  // findings of those that no bug of the profile explains.
  std::vector<CellFault> faults = {};
  std::vector<CellFinding> unexplained = {};
  friend bool operator==(const CellResult&, const CellResult&) = default;
};

}  // namespace hybridscope
