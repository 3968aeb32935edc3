// The graph that a step runs in, and why: what graph_padding.h decides.
#pragma once

#include <cstdint>

#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

// Why a step got its runtime mode.
enum class CudagraphDispatchReason : std::uint8_t {
  graphs_off,            // none: the mode is none, or nothing was captured
  only_none_allowed,     // none
  above_largest_size,    // none: more tokens than the largest size
  no_graph_for_batch,    // none: at the size that fits, none was captured for this kind of batch
  uniform_decode_graph,  // full: graph of uniform decode rows
  mixed_batch_graph,     // full: graph of any batch
  not_uniform,           // piecewise: the batch is not a uniform decode
  full_graph_too_small,  // piecewise: no full graph of the padded size, or too few rows in it
  full_graph_forbidden,  // piecewise
  piecewise_only         // piecewise: the mode has no full graphs
};

struct CudagraphDispatch {
  CUDAGraphMode runtime_mode = CUDAGraphMode::none;  // none, piecewise or full
  std::int32_t num_tokens_padded = 0;                // T', tokens the forward runs on
  std::int32_t num_reqs_padded = 0;  // N', rows of the graph; N if its rows are not fixed
  CudagraphDispatchReason reason = CudagraphDispatchReason::graphs_off;
  friend bool operator==(const CudagraphDispatch&, const CudagraphDispatch&) = default;

  // The metadata sees padding in full graphs only.
  bool pads_metadata() const { return runtime_mode == CUDAGraphMode::full; }
};

}  // namespace hybridscope
