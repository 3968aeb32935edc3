// What a step does to blocks besides its forward pass: poison and copies. Launches of mode align
// are decided by the machine's kernels where it has the engine's, and their decisions compared.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_machine.h"
#include "core/state/copy_launch.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Batches [first, end) of operations; `launch`: whose copies they have, null: none.
struct OpRange {
  std::size_t first = 0;
  std::size_t end = 0;
  const CopyLaunch* launch = nullptr;
};

class StepCopies {
 public:
  // `has_own_engine`: traces come from an engine of this program, so that its kernels are known.
  explicit StepCopies(bool has_own_engine) : has_own_engine_(has_own_engine) {}

  // `ops`: what the checker executed of the step. `trace` is used until check().
  void run(const StepTrace& trace, const StateOps& ops, const OpRange& range,
           LanguageMachine& machine);
  // After the machine's finish(): compares what it decided with the trace, and begins anew. Errors:
  // those of compare_decisions.
  Status check(const LanguageMachine& machine);

 private:
  void decide(const StepTrace& trace, const CopyLaunch& launch, std::span<const StateCopyOp> copies,
              LanguageMachine& machine);

  bool has_own_engine_;
  // Launches that the machine decided, and their numbers there.
  std::vector<std::pair<const CopyLaunch*, std::size_t>> decided_;
};

// Did the kernels of a machine decide about copies as the engine did?

// `decided`: [rows], beside the launch's decisions. Error (device): the first row whose decision is
// another one, with its request, columns, and the groups and blocks of the engine's copies.
Status compare_decisions(const CopyLaunch& launch, std::span<const StateCopyDecision> decided);

}  // namespace hybridscope
