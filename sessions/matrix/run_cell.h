// Runs the scenarios of one cell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct CellRunOptions {
  EngineProfile profile = EngineProfile::safe;
  PolicyOverrides policies = {};  // overrides of the profile
  std::uint64_t seed = 1;
  std::int64_t num_scenarios = kScenariosPerCell;
  MakeStateBackend make_backend = {};  // may be empty: no state in bytes
  // Asked before each scenario; false: give up the cell. May be empty.
  std::function<bool()> go_on = {};
};

// One in this many scenarios of a cell also keeps state in bytes.
inline constexpr std::int64_t kScenariosABytesRun = 8;
// How many failing scenarios of a cell are explained (run_cell.h).
inline constexpr std::int64_t kMaxExplained = 12;

// Scenario `index` of a cell, in profile safe.
Scenario drawn_scenario(const MatrixCell& cell, std::int64_t index, std::uint64_t seed);
// A drawn scenario with the profile and policies of `options`.
Scenario scenario_in_engine(const MatrixCell& cell, Scenario drawn, const CellRunOptions& options);
// In profile safe with these policy values.
Scenario scenario_with_policies(const MatrixCell& cell, Scenario drawn,
                                const PolicyOverrides& policies);
// scenario_in_engine of drawn_scenario.
Scenario scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                          const CellRunOptions& options);

// Runs a form of scenario `index` of the cell. Errors: a lost device or too little memory.
Result<CheckedScenario> check_scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                                               const Scenario& scenario,
                                               const CheckScenarioOptions& options);

// Runs the scenarios of a cell; empty if it gave up. Errors: those of the backend. If an engine
// refuses a scenario, this throws a contract violation that names cell and scenario.
Result<std::optional<CellResult>> run_cell(const MatrixCell& cell, const CellRunOptions& options);

// Which known bugs or policies of an engine cause the errors of a scenario.

struct Explanation {
  struct Cause {
    std::string cause;  // FindingCause::key
    FindingKind kind;   // of the first finding of the chain that it causes
  };
  std::vector<Cause> causes = {};  // each cause once
  std::vector<FindingKind> unexplained = {};
};

// Runs scenario `index` of the cell again and asks for the cause of each chain of findings
// (find_causes), of the first kMaxExplainedChains. `errors`: those of its run. Unexplained are
// chains without a cause, and errors that are no finding (a run that does not end).
Explanation explain_errors(const MatrixCell& cell, const CellRunOptions& options,
                           std::int64_t index, const std::set<FindingKind>& errors);
inline constexpr std::size_t kMaxExplainedChains = 8;

}  // namespace hybridscope
