#include "core/engine/dummy_run.h"

#include <algorithm>

#include "core/base/ids.h"
#include "core/engine/scheduler_setup.h"
#include "core/engine/worker_policies.h"

namespace hybridscope {

std::int32_t num_dummy_rows(const EngineConfig& config, const CudagraphResolution& cudagraphs) {
  if (!has_full_cudagraphs(cudagraphs.cudagraph_mode)) return 0;
  CudagraphDispatchConfig captured = captured_graphs(config, cudagraphs);
  captured.cudagraph_mode = CUDAGraphMode::full_decode_only;  // the graphs of decodes alone
  std::int32_t rows = 0;
  for (const CudagraphKey& key : cudagraph_keys(captured))
    rows = std::max(rows, key.num_reqs.value_or(0));
  return rows;
}

bool dummy_runs_name_blocks(const EngineConfig& config) {
  return config.data_parallel_size > 1 && config.policies.is(DummyRunTables::left_over);
}

// Its tokens have padding slots, so attention writes nothing; recurrent layers read and write
// through column 0.
void add_dummy_run(StepTrace& trace, const EngineConfig& config,
                   const CudagraphResolution& cudagraphs, std::span<const BlockTable> tables) {
  if (!dummy_runs_name_blocks(config)) return;
  const std::int32_t num_rows = num_dummy_rows(config, cudagraphs);
  for (const GroupTrace& group : trace.groups) {
    if (!group.is_mamba) continue;
    const BlockTable& table = tables[static_cast<std::size_t>(group.group)];
    const std::int32_t rows = std::min(num_rows, table.num_rows());  // others name no block
    for (std::int32_t row = 0; row < rows; ++row)
      if (const std::int32_t block = table.rows(rows).at(row, 0); block != kNullBlock)
        trace.dummy_rows.push_back({.row = row, .group = group.group, .block = block});
  }
}

}  // namespace hybridscope
