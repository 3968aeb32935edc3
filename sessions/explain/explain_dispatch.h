// Which captured graph a step runs in, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/engine/engine_config.h"
#include "core/metadata/cudagraph_dispatch.h"

namespace hybridscope {

struct DispatchToExplain {
  CudagraphDispatch dispatch;
  std::int32_t num_tokens = 0;  // of the batch, without padding
  std::int32_t num_reqs = 0;
  bool uniform_decode = false;
  std::int32_t num_spec = 0;  // K
  bool reason_told = true;    // false: nor is, without a full graph, what kind of batch it is
};

// Does the trace say why the step got its graph? Traces of another engine tell at most which one.
bool dispatch_reason_told(const CudagraphDispatch& dispatch, const EngineConfig& config);

// One line without newline: runtime mode, why, and what is padded.
std::string explain_dispatch(const DispatchToExplain& step);

// "NONE", "FULL_AND_PIECEWISE": as on vLLM's command line.
std::string_view cudagraph_mode_name(CUDAGraphMode mode);

}  // namespace hybridscope
