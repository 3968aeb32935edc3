// Runs one scenario to its end under the checker, and keeps what the matrix needs of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Makes the memory that holds the states in bytes beside the symbolic ones.
using MakeStateBackend = std::function<Result<std::unique_ptr<StateBackend>>(StateMemory memory)>;

// A kind of finding: its rule and the variant of it (Finding::detail).
struct FindingKind {
  Rule rule = Rule::running_state_wrong;
  std::string detail = {};
  friend auto operator<=>(const FindingKind&, const FindingKind&) = default;
};

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

}  // namespace hybridscope
