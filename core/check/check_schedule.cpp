#include "core/check/check_rules.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/check/check_context.h"
#include "core/metadata/builder_metadata.h"

namespace hybridscope {
namespace {

bool rows_are_scheduled(const StepTrace& trace) {
  for (const RowTrace& row : trace.rows)
    if (row.scheduled < 0 || static_cast<std::size_t>(row.scheduled) >= trace.scheduled.size())
      return false;
  return true;
}

// The one row whose length differs; -1: none, or several.
std::int32_t only_row_that_differs(const StepTrace& trace,
                                   const std::vector<std::int32_t>& lengths) {
  std::int32_t only = -1;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (trace.scheduled_of(trace.rows[r]).num_scheduled_tokens == lengths[r]) continue;
    if (only >= 0) return -1;
    only = static_cast<std::int32_t>(r);
  }
  return only;
}

void check_scheduled_tokens(CheckContext& context) {
  const StepTrace& trace = context.trace();
  MetadataSays& says = context.shared().metadata;
  says.computed_tokens.clear();
  for (const RowTrace& row : trace.rows) says.computed_tokens.push_back(row.num_computed_tokens);
  std::vector<std::int32_t>& lengths = says.other_lengths;
  lengths.clear();
  for (const GroupTrace& group : trace.groups) {
    if (!group.is_mamba || !group.metadata) continue;
    if (!tell_row_lengths(*group.metadata, says.computed_tokens, says.row_lengths)) return;
    if (!lengths.empty() && says.row_lengths != lengths) return;
    lengths.swap(says.row_lengths);
  }
  const std::int32_t row = only_row_that_differs(trace, lengths);
  if (row < 0) return;
  const auto index = static_cast<std::size_t>(row);
  report(context, Rule::metadata_inconsistent,
         {lengths[index], trace.scheduled_of(trace.rows[index]).num_scheduled_tokens,
          "num_scheduled_tokens", row});
}

void check_hit_ends(CheckContext& context) {
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    const std::int32_t inside = scheduled.num_hit_tokens % context.config().hash_block_size;
    if (scheduled.admission == Admission::running || inside == 0) continue;
    context.report({.rule = Rule::hit_longer_than_group,
                    .request = scheduled.request,
                    .expected = scheduled.num_hit_tokens - inside,
                    .seen = scheduled.num_hit_tokens,
                    .detail = "do not end with a hash block"});
  }
}

}  // namespace

void check_schedule(CheckContext& context) {
  if (!context.trace().rows.empty() && rows_are_scheduled(context.trace()))
    check_scheduled_tokens(context);
  check_hit_ends(context);
}

namespace {

void expect_at_most(CheckContext& context, Rule rule, const Mismatch& limit) {
  if (limit.seen > limit.expected) report(context, rule, limit);
}

// The fewest tokens that a row of the full graph was captured with; absent: the graph is not known.
std::optional<std::int32_t> tokens_a_row(const CheckContext& context) {
  switch (context.trace().graph.reason) {
    case CudagraphDispatchReason::uniform_decode_graph:
      return 1 + context.config().num_speculative_tokens;
    case CudagraphDispatchReason::mixed_batch_graph: return 1;
    default: return std::nullopt;
  }
}

// Does a group's metadata tell so many rows, padding included?
bool has_metadata_rows(const StepTrace& trace, std::int32_t num_rows) {
  return std::ranges::any_of(trace.groups, [num_rows](const GroupTrace& group) {
    return group.metadata && has_num_rows(*group.metadata, num_rows);
  });
}

}  // namespace

void check_schedule_limits(CheckContext& context) {
  const auto& limits = context.config().limits;
  if (!limits) return;
  const StepTrace& trace = context.trace();
  const auto expect = [&](const Mismatch& limit) {
    expect_at_most(context, Rule::schedule_over_limit, limit);
  };
  expect({trace.token_budget, trace.num_scheduled_tokens, "tokens of the step"});
  // The trace of another engine may lack num_running.
  const auto num_rows = static_cast<std::int32_t>(trace.rows.size());
  expect({limits->max_num_seqs, std::max(num_rows, trace.num_running), "requests at once"});
  for (std::size_t row = 0; row < trace.rows.size(); ++row) {
    const RowTrace& of_row = trace.rows[row];
    const ScheduledTrace& scheduled = trace.scheduled_of(of_row);
    if (scheduled.max_num_tokens > 0)
      expect({scheduled.max_num_tokens - 1, scheduled.num_tokens,
              "known tokens of a request that is scheduled", static_cast<std::int32_t>(row)});
    expect({limits->max_model_len, of_row.num_computed_tokens + scheduled.num_scheduled_tokens,
            "tokens of the request", static_cast<std::int32_t>(row)});
  }
}

void check_replayed_graph(CheckContext& context) {
  const auto& limits = context.config().limits;
  const StepTrace& trace = context.trace();
  const CudagraphDispatch& graph = trace.graph;
  if (!limits || graph.runtime_mode == CUDAGraphMode::none) return;
  const auto fail = [&](std::int64_t expected, std::int64_t seen, std::string_view detail) {
    report(context, Rule::graph_not_captured, {expected, seen, detail});
  };
  const auto& sizes = limits->cudagraph_capture_sizes;
  if (!sizes.empty() && !std::ranges::binary_search(sizes, graph.num_tokens_padded))
    fail(-1, graph.num_tokens_padded, "tokens of a graph that nobody captured");
  if (graph.num_tokens_padded < trace.num_scheduled_tokens)
    fail(trace.num_scheduled_tokens, graph.num_tokens_padded, "tokens of a graph too small");
  const auto tokens = tokens_a_row(context);
  if (!graph.pads_metadata() || !tokens) return;
  const auto rows_of = [&](std::int32_t tokens_of_row) {
    return std::min(graph.num_tokens_padded / tokens_of_row, limits->max_num_seqs);
  };
  if (graph.num_reqs_padded == rows_of(*tokens)) return;
  const bool uniform = *tokens > 1;
  const std::int32_t other = uniform ? 1 : 1 + context.config().num_speculative_tokens;
  if (graph.num_reqs_padded == rows_of(other) && has_metadata_rows(trace, rows_of(other)))
    fail(!uniform, uniform, "uniform");
  else
    fail(rows_of(*tokens), graph.num_reqs_padded, "rows of the graph");
}

}  // namespace hybridscope
