#include "core/check/check_batch.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {
namespace {

struct Mismatch {
  std::int64_t expected = 0;
  std::int64_t seen = 0;
  std::string_view detail;
  std::int32_t row = -1;
  std::int32_t group = -1;
};

void report(CheckContext& context, Rule rule, const Mismatch& mismatch) {
  Finding finding;
  finding.rule = rule;
  finding.row = mismatch.row;
  finding.group = mismatch.group;
  finding.expected = mismatch.expected;
  finding.seen = mismatch.seen;
  finding.detail = mismatch.detail;
  const auto& rows = context.trace().rows;
  if (mismatch.row >= 0 && static_cast<std::size_t>(mismatch.row) < rows.size())
    finding.request = rows[static_cast<std::size_t>(mismatch.row)].request;
  context.report(finding);
}

void expect_equal(CheckContext& context, const Mismatch& mismatch) {
  if (mismatch.expected != mismatch.seen) report(context, Rule::metadata_inconsistent, mismatch);
}

void expect_cumulative(CheckContext& context, const TensorView<std::int32_t>& starts,
                       std::int32_t total, std::int32_t group, std::string_view detail) {
  if (!starts.present) return;
  expect_equal(context, {0, starts.at(0), detail, -1, group});
  for (std::int32_t i = 1; i < starts.rows; ++i)
    if (starts.at(i) < starts.at(i - 1))
      report(context, Rule::metadata_inconsistent,
             {starts.at(i - 1), starts.at(i), detail, -1, group});
  expect_equal(context, {total, starts.at(starts.rows - 1), detail, -1, group});
}

// The count that a kernel sees for a row against the one the request has (I7, KNOWN_BUGS 9, 28).
void check_row_count(CheckContext& context, std::int32_t group, std::int32_t row,
                     std::int32_t count) {
  if (static_cast<std::size_t>(row) >= context.trace().rows.size()) return;
  const RowTrace& trace = context.trace().rows[static_cast<std::size_t>(row)];
  const std::int32_t limit = 1 + context.config().num_speculative_tokens;
  if (count < 1 || count > limit)
    report(context, Rule::foreign_row_datum,
           {limit, count, "accepted count outside 1..1+K", row, group});
  else if (count != trace.num_accepted_tokens)
    report(context, Rule::foreign_row_datum,
           {trace.num_accepted_tokens, count, "accepted count of another row", row, group});
}

void check_mamba(CheckContext& context, std::int32_t group, const MambaMetadata& metadata) {
  const CommonAttentionMetadata& common = context.trace().common;
  expect_equal(context, {common.num_reqs, metadata.num_decodes + metadata.num_prefills,
                         "decode and prefill rows", -1, group});
  expect_equal(context,
               {common.num_actual_tokens, metadata.num_decode_tokens + metadata.num_prefill_tokens,
                "decode and prefill tokens", -1, group});
  if (metadata.num_prefills > 0)
    expect_cumulative(context, metadata.query_start_loc_p, metadata.num_prefill_tokens, group,
                      "query_start_loc_p");
  if (metadata.num_accepted_tokens.present)
    for (std::int32_t row = 0;
         row < std::min(metadata.num_decodes, metadata.num_accepted_tokens.rows); ++row)
      check_row_count(context, group, row, metadata.num_accepted_tokens.at(row));
}

// Every token index of a mixed batch belongs to a row of its kind, in the order of the rows.
void check_token_indices(CheckContext& context, std::int32_t group, const GdnMetadata& metadata,
                         const TensorView<std::int32_t>& indices, bool spec) {
  const CommonAttentionMetadata& common = context.trace().common;
  std::int32_t next = 0;
  for (std::int32_t row = 0; row < common.num_reqs; ++row) {
    if ((metadata.spec_sequence_masks.at(row) != 0) != spec) continue;
    for (std::int32_t token = common.query_start_loc[static_cast<std::size_t>(row)];
         token < common.query_start_loc[static_cast<std::size_t>(row) + 1]; ++token, ++next) {
      const std::int32_t seen = next < indices.rows ? indices.at(next) : -1;
      if (seen == token) continue;
      report(context, Rule::foreign_row_datum,
             {token, seen, spec ? "spec_token_indx" : "non_spec_token_indx", row, group});
      return;
    }
  }
  expect_equal(context, {next, indices.rows, "token indices", -1, group});
}

void check_gdn(CheckContext& context, std::int32_t group, const GdnMetadata& metadata) {
  const CommonAttentionMetadata& common = context.trace().common;
  const std::int32_t tokens =
      metadata.num_prefill_tokens + metadata.num_decode_tokens + metadata.num_spec_decode_tokens;
  const bool padded_full = context.trace().graph.pads_metadata();
  if (!padded_full)
    expect_equal(context, {common.num_actual_tokens, tokens, "GDN token counts", -1, group});
  if (metadata.num_prefills > 0 && metadata.spec_sequence_masks.present) {
    check_token_indices(context, group, metadata, metadata.spec_token_indx, true);
    check_token_indices(context, group, metadata, metadata.non_spec_token_indx, false);
  }
  if (metadata.num_spec_decodes == 0) return;
  std::int32_t index = 0;
  for (std::int32_t row = 0;
       row < metadata.spec_sequence_masks.rows && index < metadata.num_spec_decodes; ++row)
    if (metadata.spec_sequence_masks.at(row) != 0)
      check_row_count(context, group, row, metadata.num_accepted_tokens.at(index++));
}

}  // namespace

void check_common_metadata(CheckContext& context) {
  const StepTrace& trace = context.trace();
  const CommonAttentionMetadata& common = trace.common;
  const auto num_rows = static_cast<std::int32_t>(trace.rows.size());
  expect_equal(context,
               {common.num_reqs + 1, static_cast<std::int64_t>(common.query_start_loc.size()),
                "entries of query_start_loc", -1, -1});
  std::int32_t next = 0;
  for (std::int32_t row = 0; row < common.num_reqs; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const bool real = row < num_rows;
    const std::int32_t query = real ? trace.scheduled_of(trace.rows[r]).num_scheduled_tokens : 0;
    expect_equal(context, {next, common.query_start_loc[r], "query_start_loc", row, -1});
    next += query;
    const std::int32_t length =
        real ? trace.scheduled_of(trace.rows[r]).num_computed_tokens + query : 0;
    if (common.seq_lens[r] != length)
      report(context, real ? Rule::metadata_inconsistent : Rule::padded_row_not_null,
             {length, common.seq_lens[r], "seq_lens", row, -1});
    if (real && trace.rows[r].accepted_from != trace.rows[r].request)
      report(context, Rule::foreign_row_datum,
             {trace.rows[r].request.value, trace.rows[r].accepted_from.value,
              "accepted count taken from another request", row, -1});
  }
  expect_equal(context, {next, common.query_start_loc[static_cast<std::size_t>(common.num_reqs)],
                         "last entry of query_start_loc", -1, -1});
}

void check_group_metadata(CheckContext& context, const GroupTrace& group) {
  if (context.trace().graph.pads_metadata() && !group.persistent_buffers_refreshed)
    report(context, Rule::stale_persistent_array,
           {1, 0, "the replayed graph's buffers were not written by this build", -1, group.group});
  if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata))
    check_mamba(context, group.group, *mamba);
  else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata)) {
    check_mamba(context, group.group, mamba2->base);
    if (mamba2->base.num_prefills > 0)
      expect_cumulative(context, mamba2->cu_chunk_seqlen_p, mamba2->base.num_prefill_tokens,
                        group.group, "cu_chunk_seqlen_p");
  } else if (const auto* gdn = std::get_if<GdnMetadata>(&*group.metadata)) {
    check_gdn(context, group.group, *gdn);
  }
}

void check_block_tables(CheckContext& context, const RowTruth& truth, const GroupTrace& group) {
  const StepTrace& trace = context.trace();
  const bool window = group.is_mamba && context.config().mamba_cache_mode != MambaCacheMode::all;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    const std::int32_t computed = truth.num_computed_tokens(row);
    const std::int32_t end = computed + truth.num_query_tokens(row);
    if (end <= computed) continue;
    const std::int32_t last_column = (end - 1) / group.block_size;
    const std::int32_t first = window ? last_column : computed / group.block_size;
    const std::int32_t last = last_column + (window ? context.config().num_speculative_tokens : 0);
    for (std::int32_t column = first; column <= last; ++column) {
      const std::int32_t expected =
          context.tables().block_at(trace.rows[r].request, group.group, column);
      const std::int32_t seen =
          column < group.block_table.cols ? group.block_table.at(row, column) : kPadSlotId;
      if (expected == seen) continue;
      Finding finding;
      finding.rule = Rule::block_table_mismatch;
      finding.request = trace.rows[r].request;
      finding.row = row;
      finding.group = group.group;
      finding.column = column;
      finding.block = seen;
      finding.expected = expected;
      finding.seen = seen;
      context.report(finding);
    }
  }
}

}  // namespace hybridscope
