#include "sessions/explain/explain_dispatch.h"

#include <fmt/core.h>

#include "core/engine/cudagraph_setup.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

std::string_view reason_words(CudagraphDispatchReason reason) {
  switch (reason) {
    case CudagraphDispatchReason::graphs_off:
      return "graphs are off";
    case CudagraphDispatchReason::only_none_allowed:
      return "this step has to run without a graph";
    case CudagraphDispatchReason::above_largest_size:
      return "the batch is larger than the largest captured size";
    case CudagraphDispatchReason::no_graph_for_batch:
      return "at the captured size that fits there is no graph for this kind of batch";
    case CudagraphDispatchReason::uniform_decode_graph:
      return "the graph of uniform decode batches";
    case CudagraphDispatchReason::mixed_batch_graph:
      return "the graph of any batch";
    case CudagraphDispatchReason::not_uniform:
      return "full graphs are for uniform decode batches only";
    case CudagraphDispatchReason::full_graph_too_small:
      return "there is no full graph of the padded size with enough rows";
    case CudagraphDispatchReason::full_graph_forbidden:
      return "full graphs are forbidden in this step (cascade attention)";
    case CudagraphDispatchReason::piecewise_only:
      return "the graph mode has no full graphs";
  }
  return {};
}

std::string batch_words(const DispatchToExplain& step) {
  if (step.uniform_decode)
    return fmt::format(": a uniform decode (1 + K = {} a row)",
                       counted(1 + step.num_spec, "token"));
  return step.reason_known ? ": not a uniform decode" : "";
}

}  // namespace

bool dispatch_reason_known(const CudagraphDispatch& dispatch, const EngineConfig& config) {
  if (dispatch.reason != CudagraphDispatchReason::graphs_off) return true;
  if (dispatch.runtime_mode != CUDAGraphMode::none) return false;
  const auto resolved = resolve_cudagraphs(config);
  return resolved.ok() && (resolved.value().cudagraph_mode == CUDAGraphMode::none ||
                           resolved.value().capture_sizes.empty());
}

std::string explain_dispatch(const DispatchToExplain& step) {
  const CudagraphDispatch& dispatch = step.dispatch;
  std::string text = fmt::format(
      "{} in {}{}; runtime mode {}: {}", counted(step.num_tokens, "token"),
      counted(step.num_reqs, "row"), batch_words(step), cudagraph_mode_name(dispatch.runtime_mode),
      step.reason_known ? reason_words(dispatch.reason) : "the trace does not say why");
  if (dispatch.runtime_mode == CUDAGraphMode::none) return text;
  const std::int32_t tokens = dispatch.num_tokens_padded - step.num_tokens;
  const std::int32_t rows = dispatch.pads_metadata() ? dispatch.num_reqs_padded - step.num_reqs : 0;
  text += fmt::format("; captured size {}: ", dispatch.num_tokens_padded);
  if (tokens == 0 && rows == 0) return text + "nothing to pad";
  text += counted(tokens, "token") + " of padding";
  if (!dispatch.pads_metadata()) return text + " that the metadata does not see";
  return text +
         fmt::format(" and {} without tokens, length or blocks", counted(rows, "padding row"));
}

std::string_view cudagraph_mode_name(CUDAGraphMode mode) {
  switch (mode) {
    case CUDAGraphMode::none:
      return "NONE";
    case CUDAGraphMode::piecewise:
      return "PIECEWISE";
    case CUDAGraphMode::full:
      return "FULL";
    case CUDAGraphMode::full_decode_only:
      return "FULL_DECODE_ONLY";
    case CUDAGraphMode::full_and_piecewise:
      return "FULL_AND_PIECEWISE";
  }
  return {};
}

}  // namespace hybridscope
