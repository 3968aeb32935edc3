#include "core/engine/dummy_run.h"

#include <algorithm>

#include "core/base/ids.h"

namespace hybridscope {

std::int32_t num_dummy_rows(const EngineConfig& config, const CudagraphResolution& cudagraphs) {
  if (!has_full_cudagraphs(cudagraphs.cudagraph_mode)) return 0;
  const std::int32_t tokens_a_row = 1 + config.num_speculative_tokens;
  std::int32_t rows = 0;
  for (const std::int32_t size : cudagraphs.capture_sizes)
    if (size <= config.max_num_seqs * tokens_a_row) rows = std::max(rows, size / tokens_a_row);
  return rows;
}

// Its tokens have padding slots, so attention writes nothing; recurrent layers read and write
// through column 0.
void add_dummy_run(StepTrace& trace, const EngineConfig& config,
                   const CudagraphResolution& cudagraphs, std::span<const BlockTable> tables) {
  if (!dummy_runs_name_blocks(config)) return;
  const std::int32_t num_rows = num_dummy_rows(config, cudagraphs);
  for (const GroupTrace& group : trace.groups) {
    if (!group.is_mamba) continue;
    const TensorView<std::int32_t> table =
        tables[static_cast<std::size_t>(group.group)].rows(num_rows);
    for (std::int32_t row = 0; row < num_rows; ++row)
      if (const std::int32_t block = table.at(row, 0); block != kNullBlock)
        trace.dummy_rows.push_back({.row = row, .group = group.group, .block = block});
  }
}

}  // namespace hybridscope
