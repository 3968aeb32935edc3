#include "sessions/explain/explain_parts.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/engine/cudagraph_setup.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

std::string explain_row_origin(const RowTrace& row) {
  std::string text(row_origin_name(row.origin));
  if (row.origin == RowOrigin::moved) text += fmt::format(" from {}", row.previous_row);
  return text;
}

std::string explain_sample(const ScheduledTrace& scheduled, const RowTrace& row) {
  const std::int32_t a = row.num_sampled_tokens;
  if (a == 0)
    return fmt::format("the chunk ends at {} of {} known{} tokens: what it samples is discarded",
                       scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
                       scheduled.num_tokens,
                       scheduled.num_output_placeholders > 0
                           ? fmt::format(" + {} in flight", scheduled.num_output_placeholders)
                           : "");
  if (scheduled.num_draft_tokens == 0)
    return fmt::format("a = {}: the token that the step samples, no drafts", a);
  if (scheduled.placeholder_drafts)
    return fmt::format("a = {}: the token that the step samples; its {} never count", a,
                       counted(scheduled.num_draft_tokens, "placeholder"));
  return fmt::format("a = {} of 1..{}: {} of {} accepted, {} rejected, and the bonus token", a,
                     1 + scheduled.num_draft_tokens, a - 1,
                     counted(scheduled.num_draft_tokens, "draft"),
                     scheduled.num_draft_tokens - (a - 1));
}

std::string_view array_dtype_name(ArrayDtype dtype) {
  switch (dtype) {
    case ArrayDtype::boolean:
    case ArrayDtype::host_bool:
      return "bool";
    case ArrayDtype::int32:
      return "int32";
    case ArrayDtype::int64:
      return "int64";
    case ArrayDtype::host_int:
      return "int";
  }
  return {};
}

std::string array_shape(const NamedArray& array) {
  return fmt::format("[{}]", fmt::join(array.dims, ","));
}

std::string replay_words(const GroupTrace& group, std::int64_t step) {
  if (group.persistent_buffers_step == step) return "refreshed in this step";
  if (group.persistent_buffers_step > 0)
    return fmt::format("not refreshed since step {}", group.persistent_buffers_step);
  return "never refreshed since the capture";
}

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
