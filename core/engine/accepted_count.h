// num_accepted_tokens of a row: one value, which belongs to the row's request and is handed on from
// frame to frame (docs/architecture.md, "Two values and their ways").
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/ids.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct AcceptedCount {
  std::int32_t num_accepted_tokens = 1;  // of the request's last frame, bonus token included
  RequestId from{};  // whose frame that was: of another request only where a fault mixes counts up
  friend bool operator==(const AcceptedCount&, const AcceptedCount&) = default;
};

// What the row accepted in its own frame, once it has sampled: 1 if its sample was discarded.
inline AcceptedCount accepted_count_after(const RowTrace& row) {
  return {std::max(row.num_sampled_tokens, 1), row.request};
}

// The row starts the step with `count`. A pre-copy may take it back to 1 afterwards.
inline void start_with(RowTrace& row, const AcceptedCount& count) {
  row.num_accepted_tokens_before = count.num_accepted_tokens;
  row.num_accepted_tokens = count.num_accepted_tokens;
  row.accepted_from = count.from;
}

}  // namespace hybridscope
