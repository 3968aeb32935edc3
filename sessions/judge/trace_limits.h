// What the header of a trace allows in its steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/engine_config.h"

namespace hybridscope {

struct TraceLimits {
  std::int32_t num_blocks = 0;
  std::int32_t num_speculative_tokens = 0;
  std::int32_t max_num_seqs = 0;
  std::int32_t max_num_batched_tokens = 0;
  // Counts of tokens: max_model_len, one sampled token and K drafts.
  std::int32_t max_tokens = 0;
  // Columns that max_model_len needs, plus 1 + K.
  std::vector<std::int32_t> max_columns{};  // [groups]
  std::int32_t max_mamba_columns = 0;       // the most over the mamba groups
  std::vector<bool> is_mamba{};             // [groups]

  std::int32_t num_groups() const { return static_cast<std::int32_t>(max_columns.size()); }
};

TraceLimits make_trace_limits(const EngineConfig& config);

}  // namespace hybridscope
