#include "core/check/check_rules.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/check/check_context.h"

namespace hybridscope {
namespace {

bool check_groups(CheckContext& context) {
  const auto& groups = context.config().kv_cache_config.groups;
  const std::vector<GroupTrace>& traces = context.trace().groups;
  if (!expect_equal(context, {static_cast<std::int64_t>(groups.size()),
                              static_cast<std::int64_t>(traces.size()), "KV-cache groups"}))
    return false;
  bool fit = true;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto group = static_cast<std::int32_t>(g);
    fit &= expect_equal(context, {group, traces[g].group, "number of the group", -1, group});
    fit &= expect_equal(context,
                        {groups[g].is_mamba(), traces[g].is_mamba, "kind of the group", -1, group});
    fit &= expect_equal(context, {groups[g].block_size(), traces[g].block_size,
                                  "block size of the group", -1, group});
  }
  return fit;
}

// Every scheduled request has one row, and the row is its own.
bool check_rows(CheckContext& context) {
  const StepTrace& trace = context.trace();
  bool fit = true;
  std::vector<std::int32_t> num_rows(trace.scheduled.size(), 0);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const auto index = static_cast<std::size_t>(row.scheduled);
    if (row.scheduled < 0 || index >= trace.scheduled.size()) {
      report(context, Rule::metadata_inconsistent,
             {static_cast<std::int64_t>(trace.scheduled.size()), row.scheduled,
              "the row's scheduled request does not exist", static_cast<std::int32_t>(r)});
      fit = false;
      continue;
    }
    ++num_rows[index];
    if (trace.scheduled[index].request != row.request)
      report(context, Rule::foreign_row_datum,
             {trace.scheduled[index].request.value, row.request.value,
              "the row's request is not the scheduled one", static_cast<std::int32_t>(r)});
  }
  for (std::size_t i = 0; i < num_rows.size(); ++i) {
    if (num_rows[i] == 1) continue;
    context.report({.rule = Rule::metadata_inconsistent,
                    .request = trace.scheduled[i].request,
                    .expected = 1,
                    .seen = num_rows[i],
                    .detail = "rows of a scheduled request"});
  }
  return fit;
}

// Sizes, and query_start_loc ascending within the step's tokens.
bool check_arrays(CheckContext& context) {
  const StepTrace& trace = context.trace();
  const CommonAttentionMetadata& common = trace.common;
  const auto num_rows = static_cast<std::int32_t>(trace.rows.size());
  const std::int32_t expected_rows =
      trace.graph.pads_metadata() ? trace.graph.num_reqs_padded : num_rows;
  expect_equal(context, {expected_rows, common.num_reqs, "rows of the batch"});
  if (common.num_reqs < num_rows) return false;
  const std::int64_t starts = static_cast<std::int64_t>(common.query_start_loc.size());
  const std::int64_t lengths = static_cast<std::int64_t>(common.seq_lens.size());
  if (!expect_equal(context, {common.num_reqs + 1, starts, "entries of query_start_loc"}) ||
      !expect_equal(context, {common.num_reqs, lengths, "entries of seq_lens"}))
    return false;
  const auto num_tokens = static_cast<std::int32_t>(trace.tokens.size());
  for (std::int32_t row = 0; row < common.num_reqs; ++row) {
    const std::int32_t begin = common.query_start_loc[static_cast<std::size_t>(row)];
    const std::int32_t end = common.query_start_loc[static_cast<std::size_t>(row) + 1];
    if (begin >= 0 && begin <= end && end <= num_tokens) continue;
    report(context, Rule::metadata_inconsistent,
           {num_tokens, end, "query_start_loc leaves the step's tokens", row});
    return false;
  }
  return true;
}

void check_row(CheckContext& context, std::int32_t row, std::int32_t start) {
  const StepTrace& trace = context.trace();
  const CommonAttentionMetadata& common = trace.common;
  const auto r = static_cast<std::size_t>(row);
  const RowTrace& row_trace = trace.rows[r];
  const ScheduledTrace& scheduled = trace.scheduled_of(row_trace);
  expect_equal(context, {start, common.query_start_loc[r], "query_start_loc", row});
  expect_equal(context, {row_trace.num_computed_tokens + scheduled.num_scheduled_tokens,
                         common.seq_lens[r], "seq_lens", row});
  if (!common.is_prefilling.empty() && r < common.is_prefilling.size() &&
      (common.is_prefilling[r] != 0) != row_trace.is_prefilling)
    report(context, Rule::foreign_row_datum,
           {row_trace.is_prefilling, common.is_prefilling[r], "is_prefilling", row});
  const std::int32_t limit = 1 + context.config().num_speculative_tokens;
  if (row_trace.num_accepted_tokens_before < 1 || row_trace.num_accepted_tokens_before > limit)
    report(context, Rule::foreign_row_datum,
           {limit, row_trace.num_accepted_tokens_before,
            "accepted count outside 1..1+K as the step begins", row});
  if (row_trace.num_accepted_tokens < 1 || row_trace.num_accepted_tokens > limit)
    report(context, Rule::foreign_row_datum,
           {limit, row_trace.num_accepted_tokens, "accepted count outside 1..1+K", row});
}

void check_padding_row(CheckContext& context, std::int32_t row) {
  const CommonAttentionMetadata& common = context.trace().common;
  const auto r = static_cast<std::size_t>(row);
  const std::int32_t query = common.query_start_loc[r + 1] - common.query_start_loc[r];
  if (query != 0) report(context, Rule::padded_row_not_null, {0, query, "query length", row});
  if (common.seq_lens[r] != 0)
    report(context, Rule::padded_row_not_null, {0, common.seq_lens[r], "seq_lens", row});
  if (r < common.is_prefilling.size() && common.is_prefilling[r] != 0)
    report(context, Rule::padded_row_not_null, {0, 1, "is_prefilling", row});
}

void report_column(CheckContext& context, const GroupTrace& group, std::int32_t row,
                   std::int32_t column, std::int32_t expected, std::int32_t seen) {
  context.report({.rule = Rule::block_table_mismatch,
                  .request = context.trace().rows[static_cast<std::size_t>(row)].request,
                  .row = row,
                  .group = group.group,
                  .column = column,
                  .block = seen,
                  .expected = expected,
                  .seen = seen});
}

// Columns [first, last] of one row.
void check_columns(CheckContext& context, const GroupTrace& group, std::int32_t row,
                   std::int32_t first, std::int32_t last) {
  const RequestId request = context.trace().rows[static_cast<std::size_t>(row)].request;
  const TensorView<std::int32_t>& table = group.block_table;
  const std::int32_t* worker =
      table.present && row < table.rows ? table.data + std::int64_t{row} * table.cols : nullptr;
  const std::span<const std::int32_t> scheduler = context.tables().block_ids(request, group.group);
  if (worker != nullptr && last < table.cols &&
      last < static_cast<std::int32_t>(scheduler.size()) &&
      std::equal(worker + first, worker + last + 1, scheduler.begin() + first))
    return;
  for (std::int32_t column = first; column <= last; ++column) {
    const std::int32_t expected = context.tables().block_at(request, group.group, column);
    const std::int32_t seen =
        worker != nullptr && column < table.cols ? worker[column] : kPadSlotId;
    if (expected != seen) report_column(context, group, row, column, expected, seen);
  }
}

// An admitted row's lists are the scheduler's in every column.
bool admits(const CheckContext& context, std::int32_t row) {
  const StepTrace& trace = context.trace();
  const RowTrace& of_row = trace.rows[static_cast<std::size_t>(row)];
  return trace.scheduled_of(of_row).admission != Admission::running;
}

}  // namespace

bool check_shapes(CheckContext& context) {
  const bool groups = check_groups(context);
  const bool rows = check_rows(context);
  return check_arrays(context) && groups && rows;
}

void check_common_metadata(CheckContext& context) {
  const StepTrace& trace = context.trace();
  const CommonAttentionMetadata& common = trace.common;
  const auto num_rows = static_cast<std::int32_t>(trace.rows.size());
  std::int32_t total = 0;
  std::int32_t longest = 0;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    check_row(context, row, total);
    const std::int32_t query =
        trace.scheduled_of(trace.rows[static_cast<std::size_t>(row)]).num_scheduled_tokens;
    total += query;
    longest = std::max(longest, query);
  }
  for (std::int32_t row = num_rows; row < common.num_reqs; ++row) check_padding_row(context, row);
  expect_equal(context, {total, common.query_start_loc[static_cast<std::size_t>(num_rows)],
                         "last entry of query_start_loc"});
  expect_equal(context, {total, static_cast<std::int64_t>(trace.tokens.size()), "tokens"});
  expect_equal(context, {total, trace.num_scheduled_tokens, "num_scheduled_tokens"});
  expect_equal(context, {trace.graph.pads_metadata() ? trace.graph.num_tokens_padded : total,
                         common.num_actual_tokens, "num_actual_tokens"});
  if (common.max_query_len < longest)
    expect_equal(context, {longest, common.max_query_len, "max_query_len"});
}

void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group) {
  const bool window = group.is_mamba && context.config().mamba_cache_mode != MambaCacheMode::all;
  const std::int32_t num_spec = context.config().num_speculative_tokens;
  for (std::size_t r = 0; r < context.trace().rows.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    const std::int32_t computed = truth.num_computed_tokens(row);
    const std::int32_t query = truth.num_query_tokens(row);
    if (query == 0) continue;
    const std::int32_t last = (computed + query - 1) / group.block_size;
    if (!group.is_mamba || admits(context, row)) {
      // Columns beyond the last live one are those that the scheduler has given out ahead.
      const auto request = context.trace().rows[r].request;
      const auto given =
          static_cast<std::int32_t>(context.tables().block_ids(request, group.group).size());
      check_columns(context, group, row, 0, std::max(last + (window ? num_spec : 0), given - 1));
    } else if (window) {
      check_columns(context, group, row, last, last + num_spec);
    } else {
      const bool decodes = context.trace().rows[r].row_class != RowClass::prefill;
      const std::int32_t scratch = num_spec > 0 && decodes ? query - 1 : 0;
      check_columns(context, group, row, std::max(computed - 1, 0) / group.block_size,
                    last + scratch);
    }
  }
}

namespace {

Rule rule_of(MismatchKind kind) {
  switch (kind) {
    case MismatchKind::inconsistent: return Rule::metadata_inconsistent;
    case MismatchKind::foreign_row: return Rule::foreign_row_datum;
    case MismatchKind::padding_runs_as_prefill: return Rule::padded_row_not_null;
  }
  return Rule::metadata_inconsistent;
}

bool fits(const NeededArray& array) {
  if (array.expected_rows == 0 || (array.present && array.rows >= array.expected_rows))
    return array.expected_rows >= 0;
  return false;
}

MetadataBatch batch_of(CheckContext& context, const GroupTrace& group) {
  const StepTrace& trace = context.trace();
  std::vector<MetadataBatchRow>& rows = context.shared().metadata.rows;
  rows.clear();
  for (const RowTrace& row : trace.rows)
    rows.push_back({row.num_computed_tokens, trace.scheduled_of(row).num_scheduled_tokens,
                    row.num_accepted_tokens});
  return {.common = trace.common,
          .rows = rows,
          .mamba_cache_mode = context.config().mamba_cache_mode,
          .block_size = group.block_size,
          .num_spec = context.config().num_speculative_tokens,
          .accepted_counts_given = group.accepted_counts_given,
          .chunk_size = context.config().limits ? context.config().limits->chunk_size : 0};
}

}  // namespace

bool check_metadata_shapes(CheckContext& context, const GroupTrace& group) {
  if (!group.metadata) {
    report(context, Rule::metadata_inconsistent,
           {1, 0, "a mamba group without metadata", -1, group.group});
    return false;
  }
  std::vector<NeededArray>& arrays = context.shared().metadata.needed_arrays;
  arrays.clear();
  append_needed_arrays(*group.metadata,
                       forward_context(context.trace(), group, context.config().mamba_cache_mode),
                       arrays);
  if (std::ranges::all_of(arrays, fits)) return true;
  // Sizes follow from the counts, so a wrong count is told first.
  if (const auto wrong = wrong_row_count(*group.metadata, context.trace().common.num_reqs))
    report(context, Rule::metadata_inconsistent,
           {wrong->expected, wrong->seen, wrong->detail, -1, group.group});
  for (const NeededArray& array : arrays)
    if (!fits(array))
      report(context, Rule::metadata_inconsistent,
             {array.expected_rows, array.present ? array.rows : -1, array.name, -1, group.group});
  return false;
}

void check_group_metadata(CheckContext& context, const GroupTrace& group) {
  const StepTrace& trace = context.trace();
  std::vector<MetadataMismatch>& mismatches = context.shared().metadata.mismatches;
  mismatches.clear();
  append_mismatches(*group.metadata, batch_of(context, group), mismatches);
  const auto report_mismatches = [&](bool counts) {
    for (const MetadataMismatch& m : mismatches)
      if (m.detail.starts_with("num_") == counts)
        report(context, rule_of(m.kind), {m.expected, m.seen, m.detail, m.row, group.group});
  };
  // Which buffers a build writes follows from its counts.
  report_mismatches(/*counts=*/true);
  if (trace.graph.pads_metadata() && group.persistent_buffers_step != trace.step)
    report(context, Rule::stale_persistent_array,
           {trace.step, group.persistent_buffers_step,
            "the replayed graph's buffers were not written by this build", -1, group.group});
  report_mismatches(/*counts=*/false);
}

}  // namespace hybridscope
