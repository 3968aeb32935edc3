// The base of both model runners: their interface and their common state.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "core/engine/batch_metadata.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/engine/row_inputs.h"
#include "core/state/copy_launch.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Block ids the scheduler reports for one step: full lists of admitted requests, new ids of running
// ones.
struct NewBlocks {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> starts;  // [scheduled * groups + 1], by request, then by group
  std::span<const std::int32_t> of(std::size_t scheduled, std::size_t groups,
                                   std::size_t group) const {
    const std::size_t i = scheduled * groups + group;
    return std::span(ids).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

// A runner is created from an EngineConfig, which outlives it and of which nothing but the policies
// may change (errors: settings that the metadata builders or the graph resolution refuse). It does
// two things a step:
//   prepare(trace, new_blocks, finished, requests): rows, batch arrays, graph dispatch, pre-copies
//     and metadata; fills the trace's "prepare" part. `finished`: requests that ended since the
//     last step.
//   sample(trace, requests): accepted tokens of each row, post-copies, counts for the next step;
//     fills the "sample" part.
class RunnerBase {
 public:
  // From now on the runner reads `config`, of the copy of an engine whose runner this is a copy of.
  void read_from(const EngineConfig& config) { config_ = &config; }
  const CudagraphResolution& cudagraphs() const { return metadata_.cudagraphs(); }

 protected:
  RunnerBase(const EngineConfig& config, BatchMetadata metadata)
      : config_(&config), inputs_(config), metadata_(std::move(metadata)) {}

  const EngineConfig* config_;  // the engine's
  RowInputs inputs_;
  BatchMetadata metadata_;

  // Inputs and outputs of the functions of core/state.
  std::vector<MambaBlockTable> mamba_tables_;  // [mamba groups]
  std::vector<StateCopyDecision> decisions_;
};

}  // namespace hybridscope
