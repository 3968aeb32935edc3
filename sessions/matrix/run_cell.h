// Runs the scenarios of one cell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
// How many failing scenarios of a cell are explained, and of each how many chains of findings.
inline constexpr std::int64_t kMaxExplained = 12;
inline constexpr std::size_t kMaxExplainedChains = 8;

// Scenario `index` of a cell, in profile safe.
Scenario drawn_scenario(const MatrixCell& cell, std::int64_t index, std::uint64_t seed);
// In profile safe with these policy values.
Scenario scenario_with_policies(const MatrixCell& cell, Scenario drawn,
                                const PolicyOverrides& policies);
// With the profile and policies of `options`.
Scenario scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                          const CellRunOptions& options);

// Runs the scenarios of a cell; empty if it gave up. Errors: those of the backend. If an engine
// refuses a scenario, this throws a contract violation that names cell and scenario.
Result<std::optional<CellResult>> run_cell(const MatrixCell& cell, const CellRunOptions& options);

}  // namespace hybridscope
