// One launch of state copies on symbolic state: every source is read before anything is written, as
// copies of a launch have no order (semantics: collect-mamba-copy-meta, do-mamba-copy-block, I13).
#pragma once

#include <cstdint>
#include <vector>

#include "core/check/check_context.h"

namespace hybridscope {

class CopyExecutor {
 public:
  explicit CopyExecutor(const CheckConfig& config);

  // `kind` pre_copy or post_copy. Reports sources that were never written or that the request does
  // not hold, shifts that leave the conv window, writes to foreign blocks, and copies of the launch
  // that conflict. Requires: every copy refers to a decision (check_copies.h).
  void execute(CheckContext& context, const CopyLaunch& launch, WriteKind kind);

 private:
  struct Source {
    TemporalSlot temporal;
    WriteEvent conv_event;
  };
  void report_conflicts(CheckContext& context, const CopyLaunch& launch);
  void read_sources(CheckContext& context, const CopyLaunch& launch);

  std::vector<Source> sources_;           // [copies]
  std::vector<Fingerprint> windows_;      // [copies, conv_state_len]
  std::vector<std::int32_t> written_by_;  // [num_blocks] copy + 1 of this launch, 0: none
};

// Copies of whole blocks, which a step makes before anything else touches state (semantics:
// copy-on-write).

// Carries out the copies of the step's cache events, in their order. Reports a source that nobody
// wrote, and a destination that belongs to another request.
void execute_block_copies(CheckContext& context);

}  // namespace hybridscope
