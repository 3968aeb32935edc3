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
  PolicyOverrides policies = {};  // against the profile
  std::uint64_t seed = 1;
  std::int64_t num_scenarios = 150;
  MakeStateBackend make_backend = {};  // may be empty: no state in bytes
  // Asked before each scenario; false: the cell is given up. May be empty.
  std::function<bool()> go_on = {};
};

// Every so many scenarios of a cell state is kept in bytes too.
inline constexpr std::int64_t kScenariosABytesRun = 8;
// How many failing scenarios of a cell are held against each known bug of the engine: those of the
// profile, less or more what the policies take away or bring.
inline constexpr std::int64_t kMaxExplained = 24;

// Scenario `index` of a cell, as an engine of the profile runs it.
Scenario scenario_of_cell(const MatrixCell& cell, std::int64_t index,
                          const CellRunOptions& options);
// The same under the policy values of these bugs and nothing else.
Scenario scenario_of_bugs(const MatrixCell& cell, std::int64_t index, std::uint64_t seed,
                          std::span<const KnownBug* const> bugs);

// CellFault::bugs, and back. Error: what find_known_bug finds wrong.
std::string name_of_bugs(std::span<const KnownBug* const> bugs);
Result<std::vector<const KnownBug*>> bugs_named(std::string_view name);

// Empty: given up. Errors: those of the backend. What an engine refuses of a scenario is a contract
// violation that names cell and scenario.
Result<std::optional<CellResult>> run_cell(const MatrixCell& cell, const CellRunOptions& options);

}  // namespace hybridscope
