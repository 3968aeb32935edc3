#include "sessions/explain/explain_parts.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/engine/scheduler_setup.h"
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
  static constexpr std::string_view kNames[] = {"bool", "int32", "int64", "int", "bool"};
  return name_at(kNames, dtype);
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
    case CudagraphDispatchReason::graphs_off: return "graphs are off";
    case CudagraphDispatchReason::only_none_allowed: return "this step has to run without a graph";
    case CudagraphDispatchReason::above_largest_size:
      return "the batch is larger than the largest captured size";
    case CudagraphDispatchReason::no_graph_for_batch:
      return "at the captured size that fits there is no graph for this kind of batch";
    case CudagraphDispatchReason::uniform_decode_graph:
      return "the graph of uniform decode batches";
    case CudagraphDispatchReason::mixed_batch_graph: return "the graph of any batch";
    case CudagraphDispatchReason::not_uniform:
      return "full graphs are for uniform decode batches only";
    case CudagraphDispatchReason::full_graph_too_small:
      return "there is no full graph of the padded size with enough rows";
    case CudagraphDispatchReason::full_graph_forbidden:
      return "full graphs are forbidden in this step (cascade attention)";
    case CudagraphDispatchReason::piecewise_only: return "the graph mode has no full graphs";
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
  static constexpr std::string_view kNames[] = {"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY",
                                                "FULL_AND_PIECEWISE"};
  return name_at(kNames, mode);
}

namespace {

// The column that the step puts the block into; -1: none.
std::int32_t column_of(const StepTrace& trace, const BlockCopy& copy) {
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::column_set && event.request == copy.request &&
        event.group == copy.group && event.block == copy.block)
      return event.column;
  return -1;
}

}  // namespace

std::vector<ExplainedBlockCopy> explained_block_copies(const StepTrace& trace,
                                                       const KVCacheConfig& config) {
  std::vector<ExplainedBlockCopy> copies;
  for (const BlockCopy& copy : block_copies_of(trace.cache_events)) {
    if (copy.group < 0 || static_cast<std::size_t>(copy.group) >= config.groups.size()) continue;
    copies.push_back({.copy = copy,
                      .column = column_of(trace, copy),
                      .num_tokens = copied_tokens(trace, copy),
                      .is_mamba = config.groups[static_cast<std::size_t>(copy.group)].is_mamba()});
  }
  return copies;
}

std::string block_copy_words(const ExplainedBlockCopy& explained, const Names& names) {
  const BlockCopy& copy = explained.copy;
  const std::string blocks = fmt::format("block {} -> {}: ", copy.source_block, copy.block);
  const std::string who =
      copy.request.value >= 0 ? names.request(copy.request) : std::string("the request");
  const std::int32_t tokens = explained.num_tokens;
  if (explained.column >= 0)
    return blocks + fmt::format("the hit{} ends inside block {}, so {} writes on in a copy",
                                tokens > 0 ? fmt::format(" of {} tokens", tokens) : "",
                                copy.source_block, who);
  const std::string content = tokens == 0          ? std::string("what was registered")
                              : explained.is_mamba ? fmt::format("S({})", tokens)
                                                   : fmt::format("the prefix of {} tokens", tokens);
  return blocks + fmt::format("{} writes on in block {}, and the prefix cache keeps {} in the copy",
                              who, copy.source_block, content);
}

}  // namespace hybridscope
