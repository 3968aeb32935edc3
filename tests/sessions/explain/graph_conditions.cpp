#include "tests/sessions/explain/graph_conditions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hybridscope::test {
namespace {

struct Batch {
  const EngineConfig& config;
  std::int32_t num_tokens = 0;
  std::int32_t num_reqs = 0;
  bool uniform = false;

  std::int32_t decode_width() const { return 1 + config.num_speculative_tokens; }
  // Is there a full graph of decodes of exactly this size with enough rows?
  bool has_decode_graph(std::int32_t size) const {
    const std::int32_t rows = size / decode_width();
    return size % decode_width() == 0 && rows >= num_reqs && rows <= config.max_num_seqs;
  }
  // V2: a size that is rounded up to whole decode rows, and that no other graph is captured for, is
  // the first that holds the tokens.
  bool fits_decode_graph_alone(const std::vector<std::int32_t>& sizes) const {
    const auto next = std::ranges::lower_bound(sizes, num_tokens);
    return config.runner == ModelRunner::v2 && next != sizes.end() &&
           std::ranges::any_of(sizes, [&](std::int32_t size) {
             const std::int32_t rounded =
                 (size + decode_width() - 1) / decode_width() * decode_width();
             return num_tokens <= rounded && rounded < *next;
           });
  }
};

bool holds(const CudagraphDispatch& graph, const Batch& batch,
           const CudagraphResolution& captured) {
  const CUDAGraphMode mode = captured.cudagraph_mode;
  const std::vector<std::int32_t>& sizes = captured.capture_sizes;
  const bool is_full = graph.runtime_mode == CUDAGraphMode::full;
  const bool is_piecewise = graph.runtime_mode == CUDAGraphMode::piecewise;
  const bool none = graph.runtime_mode == CUDAGraphMode::none;
  if (!none && graph.num_tokens_padded < batch.num_tokens) return false;
  switch (graph.reason) {
    case CudagraphDispatchReason::graphs_off:
      return none && (mode == CUDAGraphMode::none || sizes.empty());
    case CudagraphDispatchReason::above_largest_size:
      return none && batch.num_tokens > sizes.back();
    case CudagraphDispatchReason::uniform_decode_graph:
      return is_full && batch.uniform && graph.num_reqs_padded >= batch.num_reqs;
    case CudagraphDispatchReason::mixed_batch_graph:
      return is_full && mode == CUDAGraphMode::full;
    case CudagraphDispatchReason::not_uniform:
      return is_piecewise && !batch.uniform && mode == CUDAGraphMode::full_and_piecewise;
    case CudagraphDispatchReason::piecewise_only:
      return is_piecewise && mode == CUDAGraphMode::piecewise;
    case CudagraphDispatchReason::full_graph_too_small:
      return is_piecewise && batch.uniform && !batch.has_decode_graph(graph.num_tokens_padded);
    case CudagraphDispatchReason::no_graph_for_batch: {
      const auto size = std::ranges::lower_bound(sizes, batch.num_tokens);
      if (!none || size == sizes.end()) return false;
      return mode == CUDAGraphMode::full_decode_only
                 ? !batch.uniform || !batch.has_decode_graph(*size)
                 : !batch.uniform && batch.fits_decode_graph_alone(sizes);
    }
    case CudagraphDispatchReason::only_none_allowed:
    case CudagraphDispatchReason::full_graph_forbidden:
      return false;  // the engine asks for neither
  }
  return false;
}

}  // namespace

std::string broken_graph_reason(const StepTrace& trace, const Engine& engine) {
  Batch batch{.config = engine.config(),
              .num_reqs = static_cast<std::int32_t>(trace.rows.size()),
              .uniform = trace.uniform_decode};
  for (const RowTrace& row : trace.rows)
    batch.num_tokens += trace.scheduled_of(row).num_scheduled_tokens;
  if (holds(trace.graph, batch, engine.cudagraphs())) return {};
  return fmt::format("graph reason {} for {} tokens in {} rows",
                     static_cast<int>(trace.graph.reason), batch.num_tokens, batch.num_reqs);
}

}  // namespace hybridscope::test
