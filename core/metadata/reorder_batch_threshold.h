// Longest query that the runner may order as a decode (semantics: init-reorder-batch-threshold).
#pragma once

#include <algorithm>
#include <cstdint>

namespace hybridscope {

struct ReorderBatchThresholdInput {
  std::int32_t num_spec = 0;       // speculative tokens per step; 0: no speculation
  bool parallel_drafting = false;  // the drafter also verifies its own slots: twice the tokens
  std::int32_t decode_context_parallel_size = 1;
};

// At least 1. Context parallel decode has no multi-token decode rows, so it resets the value to 1.
constexpr std::int32_t reorder_batch_threshold(const ReorderBatchThresholdInput& input) {
  if (input.decode_context_parallel_size > 1) return 1;
  const std::int32_t factor = input.parallel_drafting ? 2 : 1;
  return std::max(1, 1 + factor * input.num_spec);
}

}  // namespace hybridscope
