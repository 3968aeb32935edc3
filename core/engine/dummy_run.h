// A dummy run: what a data-parallel rank launches in a step in which it schedules nothing, so that
// the collectives of ranks with work can complete (semantics: dummy-runs; vLLM
// v1/worker/gpu_model_runner.py, _dummy_run). It replays the largest decode graph, because another
// rank may have that many rows.
#pragma once

#include <cstdint>
#include <span>

#include "core/engine/block_table.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Rows of that graph; 0: decodes replay no full graph, and a dummy run builds no metadata.
std::int32_t num_dummy_rows(const EngineConfig& config, const CudagraphResolution& cudagraphs);

// Fills dummy_rows of a step that schedules nothing. `tables`: the block tables of the runner's
// rows, [groups].
void add_dummy_run(StepTrace& trace, const EngineConfig& config,
                   const CudagraphResolution& cudagraphs, std::span<const BlockTable> tables);

// Do dummy runs use block tables that earlier steps left?
bool dummy_runs_name_blocks(const EngineConfig& config);

}  // namespace hybridscope
