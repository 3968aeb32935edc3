// Runs the scenarios of one cell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/cell_result.h"
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
// How many failing scenarios of a cell are explained (explain_errors.h).
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

}  // namespace hybridscope
