// What left the states that blocks hold in a language model's run: rows, also those of a replayed
// graph that write where its old arrays say, and padding rows. The checker's own record
// (SymbolicState) has where rows should have written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check/finding.h"
#include "core/language/group_rows.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_ops.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

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
