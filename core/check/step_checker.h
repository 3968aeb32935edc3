// Executes a step's decisions on symbolic state and checks every rule of the table (finding.h).
// Reads nothing but the trace, so that decisions made elsewhere can be judged too.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/check_context.h"
#include "core/check/check_progress.h"
#include "core/check/execute_step.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

enum class CheckScope : std::uint8_t {
  step,  // what the step wrote or registered
  all,   // and every registered block of the pool
};

class StepChecker {
 public:
  // Errors: conv_kernel outside 2..kMaxConvKernel, fewer than 2 blocks, a negative K, a
  // hash_block_size below 1.
  static Result<StepChecker> create(const CheckConfig& config);

  // Findings of this step, in the order in which they were met; valid until the next call. Steps
  // must come in order.
  std::span<const Finding> check(const StepTrace& trace, CheckScope scope = CheckScope::step);

  // From the next step on: keep every write to state that a step carries out.
  void log_writes() { state_.logs_writes = true; }
  // The writes of the last step, in order; valid until the next check.
  std::span<const StateWrite> writes() const { return state_.writes; }

  // From the next step on: keep what a step does to state, for a StateBackend.
  void log_ops() { state_.logs_ops = true; }
  // What the last step did; valid until the next check.
  const StateOps& ops() const { return state_.ops; }

  // What blocks hold after the last step.
  const CheckState& state() const { return state_; }

 private:
  explicit StepChecker(const CheckConfig& config);
  void execute(CheckContext& context, CheckScope scope);
  void execute_copies(CheckContext& context, const CopyLaunch& launch, WriteKind kind);

  CheckState state_;
  RowTruth truth_;
  CopyExecutor copies_;
  ProgressCheck progress_;
  std::vector<Finding> findings_;
};

}  // namespace hybridscope
