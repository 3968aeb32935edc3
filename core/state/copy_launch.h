// What one launch of state copies decided and does, as values: the same for our runners, for an
// engine that is judged, and for reference vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

// One decision about copying state, of whichever rule; `copies` of the launch refer to it.
struct CopyDecisionTrace {
  RequestId request{};
  std::int32_t row = -1;
  StateCopyDecision decision;
};

// A decision carried out in one KV-cache group: conv positions bias.. of conv_src go to positions
// 0.. of dst; the temporal state of temporal_src goes to dst. Block ids are physical.
struct StateCopyTrace {
  std::int32_t decision = -1;  // index into the launch's decisions
  std::int32_t group = -1;
  std::int32_t conv_src_block = 0;
  std::int32_t temporal_src_block = 0;
  std::int32_t dst_block = 0;
  std::int32_t accept_token_bias = 0;
};

// Copies of one launch have no order among themselves.
struct CopyLaunch {
  std::vector<CopyDecisionTrace> decisions;  // every row's, also those that copy nothing
  std::vector<StateCopyTrace> copies;
  void clear() {
    decisions.clear();
    copies.clear();
  }
};

}  // namespace hybridscope
