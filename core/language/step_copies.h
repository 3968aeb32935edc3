// What a step does to blocks besides its forward pass: poison and copies. Launches of mode align
// are decided by the machine's kernels where it has the engine's, and their decisions compared.
// Also who wrote each block, copies included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/language/group_rows.h"
#include "core/language/language_machine.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/copy_launch.h"
#include "core/state/state_ops.h"
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

// What left the states that blocks hold in a language model's run: rows, also those of a replayed
// graph that write where its old arrays say, and padding rows. The checker's own record
// (SymbolicState) has where rows should have written.

class BlockWriters {
 public:
  explicit BlockWriters(std::int32_t num_blocks)
      : conv_(static_cast<std::size_t>(num_blocks)),
        temporal_(static_cast<std::size_t>(num_blocks)) {}

  // The blocks were given to a new owner, or filled with zeros.
  void forget(std::span<const std::int32_t> blocks);
  // Copies of one launch, which read everything before they write. A state that goes to another
  // block is still that of the row that wrote it; a copy inside its block makes a new one.
  // `kind`: pre_copy or post_copy; `launch`: whose copies they are, null: not known.
  void copy(const StepTrace& trace, std::span<const StateCopyOp> copies, WriteKind kind,
            const CopyLaunch* launch);
  // The layers of a group have run.
  void write(const StepTrace& trace, std::span<const WrittenPlace> places);

  // Kind `never`: nothing was written since the block was given out.
  WriteEvent of(StateKind kind, std::int32_t block) const;

 private:
  std::vector<WriteEvent>& events(StateKind kind) {
    return kind == StateKind::conv ? conv_ : temporal_;
  }
  void set(StateKind kind, std::int32_t block, const WriteEvent& event);

  std::vector<WriteEvent> conv_;      // [num_blocks]
  std::vector<WriteEvent> temporal_;  // [num_blocks]
};

}  // namespace hybridscope
