// CUDA graph modes and what a metadata builder supports (semantics: cudagraph-modes,
// resolve-cudagraph-mode).
#pragma once

#include <cstdint>

namespace hybridscope {

// A mode is a pair: what uniform decode batches run in, what all other batches run in. The runtime
// mode of one step is none, piecewise or full.
enum class CUDAGraphMode : std::uint8_t {
  none,
  piecewise,
  full,
  full_decode_only,   // (full, none)
  full_and_piecewise  // (full, piecewise)
};

// What uniform decode batches run in.
constexpr CUDAGraphMode decode_mode(CUDAGraphMode mode) {
  switch (mode) {
    case CUDAGraphMode::full_decode_only:
    case CUDAGraphMode::full_and_piecewise: return CUDAGraphMode::full;
    default: return mode;
  }
}

// What all other batches run in.
constexpr CUDAGraphMode mixed_mode(CUDAGraphMode mode) {
  switch (mode) {
    case CUDAGraphMode::full_decode_only: return CUDAGraphMode::none;
    case CUDAGraphMode::full_and_piecewise: return CUDAGraphMode::piecewise;
    default: return mode;
  }
}

// Do the two halves differ, so that a dispatcher must recognise uniform decode batches?
constexpr bool separate_routine(CUDAGraphMode mode) {
  return mode == CUDAGraphMode::full_decode_only || mode == CUDAGraphMode::full_and_piecewise;
}

constexpr bool has_full_cudagraphs(CUDAGraphMode mode) {
  return decode_mode(mode) == CUDAGraphMode::full;
}

constexpr bool has_piecewise_cudagraphs(CUDAGraphMode mode) {
  return mixed_mode(mode) == CUDAGraphMode::piecewise;
}

// -O0 to -O3. Only O0 leaves the model uncompiled.
enum class OptimizationLevel : std::uint8_t { O0, O1, O2, O3 };

// The mode when none is requested.
constexpr CUDAGraphMode default_cudagraph_mode(OptimizationLevel level) {
  switch (level) {
    case OptimizationLevel::O0: return CUDAGraphMode::none;
    case OptimizationLevel::O1: return CUDAGraphMode::piecewise;
    default: return CUDAGraphMode::full_and_piecewise;
  }
}

// What a metadata builder can do in a full graph, least first.
enum class AttentionCGSupport : std::uint8_t {
  never = 0,
  uniform_single_token_decode = 1,
  uniform_batch = 2,
  always = 3
};

// Attention backends, as far as CUDA graphs distinguish them (semantics: resolve-cudagraph-mode).
enum class AttentionBackend : std::uint8_t { flash_attn_3, flash_attn_2, triton, flex };

// What the backend's metadata builder can do in a full graph.
constexpr AttentionCGSupport cg_support(AttentionBackend backend) {
  return backend == AttentionBackend::flash_attn_2 ? AttentionCGSupport::uniform_batch
                                                   : AttentionCGSupport::always;
}

// The graph that a step runs in, and why: what graph_padding.h decides.

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
