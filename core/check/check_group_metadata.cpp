#include "core/check/check_group_metadata.h"

#include <algorithm>

#include "core/check/mismatch.h"

namespace hybridscope {
namespace {

std::int32_t num_real_rows(const CheckContext& context) {
  return static_cast<std::int32_t>(context.trace().rows.size());
}

std::int32_t query_start(const CheckContext& context, std::int32_t row) {
  return context.trace().common.query_start_loc[static_cast<std::size_t>(row)];
}

// Offsets of packed rows against those of the batch: index i of `starts` is batch row first + i.
bool check_row_starts(CheckContext& context, const PackedRows& packed, std::int32_t first_row,
                      std::int32_t count, std::string_view detail) {
  const TensorView<std::int32_t>& starts = packed.starts;
  const auto& common = context.trace().common;
  if (!starts.present || starts.rows < count + 1) {
    report(context, Rule::metadata_inconsistent,
           {count + 1, starts.present ? starts.rows : 0, detail, -1, packed.group});
    return false;
  }
  if (starts.data == common.query_start_loc.data() && first_row == 0) return true;
  for (std::int32_t i = 0; i <= count; ++i)
    if (!expect_equal(
            context,
            {query_start(context, first_row + i) - query_start(context, first_row), starts.at(i),
             detail, std::min(first_row + i, first_row + count - 1), packed.group}))
      return false;
  return true;
}

// Offsets from 0 on that never go back, within the batch's tokens.
bool expect_ascending(CheckContext& context, const PackedRows& packed, std::string_view detail) {
  std::int32_t before = 0;
  for (std::int32_t i = 0; i < packed.starts.rows; ++i) {
    const std::int32_t start = packed.starts.at(i);
    if (start < before || start > context.trace().common.num_actual_tokens ||
        (i == 0 && start != 0)) {
      report(context, Rule::metadata_inconsistent, {before, start, detail, -1, packed.group});
      return false;
    }
    before = start;
  }
  return packed.starts.rows > 0;
}

// The count that a kernel sees for a row against the one the request has (semantics: I7; known
// bugs 9, 28).
void check_row_count(CheckContext& context, std::int32_t group, std::int32_t row,
                     std::int32_t count) {
  if (!context.trace().groups[static_cast<std::size_t>(group)].accepted_counts_given) return;
  if (row >= num_real_rows(context)) return;
  const RowTrace& trace = context.trace().rows[static_cast<std::size_t>(row)];
  const std::int32_t limit = 1 + context.config().num_speculative_tokens;
  if (count < 1 || count > limit)
    report(context, Rule::foreign_row_datum,
           {limit, count, "accepted count outside 1..1+K", row, group});
  else if (count != trace.num_accepted_tokens)
    report(context, Rule::foreign_row_datum,
           {trace.num_accepted_tokens, count, "accepted count of another row", row, group});
}

// Columns that a row of mode all is told to read and write
// (semantics: prefix-caching-block-indices): they follow from the batch alone.
void check_block_indices(CheckContext& context, std::int32_t group, const MambaMetadata& metadata) {
  if (context.config().mamba_cache_mode != MambaCacheMode::all) return;
  const StepTrace& trace = context.trace();
  const std::int32_t block_size = trace.groups[static_cast<std::size_t>(group)].block_size;
  const std::int32_t rows =
      std::min(metadata.num_decodes + metadata.num_prefills, num_real_rows(context));
  for (std::int32_t row = 0; row < rows; ++row) {
    const RowTrace& row_trace = trace.rows[static_cast<std::size_t>(row)];
    const std::int32_t computed = row_trace.num_computed_tokens;
    const std::int32_t end = computed + trace.scheduled_of(row_trace).num_scheduled_tokens;
    expect_equal(context, {std::max(computed - 1, 0) / block_size,
                           metadata.block_idx_last_computed_token.at(row),
                           "block_idx_last_computed_token", row, group});
    expect_equal(context, {std::max(end - 1, 0) / block_size,
                           metadata.block_idx_last_scheduled_token.at(row),
                           "block_idx_last_scheduled_token", row, group});
    const std::int32_t index = row - metadata.num_decodes;
    if (index < 0) continue;
    expect_equal(context,
                 {computed / block_size, metadata.block_idx_first_scheduled_token_p.at(index),
                  "block_idx_first_scheduled_token_p", row, group});
    if (metadata.num_computed_tokens_p.present && index < metadata.num_computed_tokens_p.rows)
      expect_equal(context, {computed, metadata.num_computed_tokens_p.at(index),
                             "num_computed_tokens_p", row, group});
  }
}

void check_lengths(CheckContext& context, std::int32_t group, const MambaMetadata& metadata) {
  const auto lengths = context.trace().common.seq_lens;
  expect_equal(context,
               {context.trace().common.num_reqs, metadata.num_reqs, "num_reqs", -1, group});
  if (!metadata.seq_lens.present || metadata.seq_lens.data == lengths.data()) return;
  const auto rows = std::min(metadata.seq_lens.rows, static_cast<std::int32_t>(lengths.size()));
  for (std::int32_t row = 0; row < rows; ++row)
    expect_equal(context, {lengths[static_cast<std::size_t>(row)], metadata.seq_lens.at(row),
                           "seq_lens of the metadata", row, group});
}

// The offsets of the prefill rows and no more, whatever the array's length.
PackedRows prefill_rows(std::int32_t group, const MambaMetadata& metadata) {
  PackedRows packed{group, metadata.query_start_loc_p};
  packed.starts.rows = std::min(packed.starts.rows, metadata.num_prefills + 1);
  return packed;
}

// True: the prefill rows are those behind the decode rows, so that their chunks can be checked.
bool check_mamba(CheckContext& context, std::int32_t group, const MambaMetadata& metadata) {
  const CommonAttentionMetadata& common = context.trace().common;
  if (!expect_equal(context, {common.num_reqs, metadata.num_decodes + metadata.num_prefills,
                              "decode and prefill rows", -1, group}))
    return false;
  expect_equal(context,
               {common.num_actual_tokens, metadata.num_decode_tokens + metadata.num_prefill_tokens,
                "decode and prefill tokens", -1, group});
  check_lengths(context, group, metadata);
  check_block_indices(context, group, metadata);
  if (metadata.query_start_loc_d.present)
    check_row_starts(context, {group, metadata.query_start_loc_d}, 0, metadata.num_decodes,
                     "query_start_loc_d");
  if (metadata.num_accepted_tokens.present)
    for (std::int32_t row = 0;
         row < std::min(metadata.num_decodes, metadata.num_accepted_tokens.rows); ++row)
      check_row_count(context, group, row, metadata.num_accepted_tokens.at(row));
  if (metadata.num_prefills == 0) return false;
  if (metadata.num_decodes + metadata.num_prefills > num_real_rows(context)) {
    report(context, Rule::padded_row_not_null,
           {num_real_rows(context), metadata.num_decodes + metadata.num_prefills,
            "a padding row runs as a prefill", -1, group});
    return false;
  }
  expect_equal(context, {query_start(context, metadata.num_decodes), metadata.num_decode_tokens,
                         "decode tokens", -1, group});
  const PackedRows packed = prefill_rows(group, metadata);
  if (!check_row_starts(context, packed, metadata.num_decodes, metadata.num_prefills,
                        "query_start_loc_p"))
    return false;
  check_conv_programs(context, packed, metadata.conv1d);
  return true;
}

struct GdnRowsOfKind {
  bool spec = false;
  TensorView<std::int32_t> starts;
  TensorView<std::int32_t> token_indices;
  std::string_view starts_detail;
  std::string_view indices_detail;
};

// A mixed batch: every token index and every offset belongs to a row of its kind, in the order of
// the rows.
void check_mixed_rows(CheckContext& context, std::int32_t group, const GdnMetadata& metadata,
                      const GdnRowsOfKind& kind) {
  std::int32_t next = 0;
  std::int32_t index = 0;
  for (std::int32_t row = 0; row < num_real_rows(context); ++row) {
    if ((metadata.spec_sequence_masks.at(row) != 0) != kind.spec) continue;
    if (index + 1 < kind.starts.rows)
      expect_equal(context, {next, kind.starts.at(index), kind.starts_detail, row, group});
    ++index;
    for (std::int32_t token = query_start(context, row); token < query_start(context, row + 1);
         ++token, ++next) {
      const std::int32_t seen =
          next < kind.token_indices.rows ? kind.token_indices.at(next) : kPadSlotId;
      if (seen == token) continue;
      report(context, Rule::foreign_row_datum, {token, seen, kind.indices_detail, row, group});
      return;
    }
  }
  expect_equal(context, {next, kind.token_indices.rows, kind.indices_detail, -1, group});
  if (expect_equal(context, {index + 1, kind.starts.rows, kind.starts_detail, -1, group}))
    expect_equal(context, {next, kind.starts.at(index), kind.starts_detail, -1, group});
}

void check_gdn_counts(CheckContext& context, std::int32_t group, const GdnMetadata& metadata) {
  if (metadata.num_spec_decodes == 0 || !metadata.num_accepted_tokens.present) return;
  const bool mixed = metadata.num_prefills > 0;
  std::int32_t index = 0;
  for (std::int32_t row = 0;
       row < num_real_rows(context) && index < metadata.num_accepted_tokens.rows; ++row)
    if (!mixed || metadata.spec_sequence_masks.at(row) != 0)
      check_row_count(context, group, row, metadata.num_accepted_tokens.at(index++));
}

// A batch of verify rows alone: tokens and rows stand as in the batch, padding rows behind them.
void check_verify_rows(CheckContext& context, std::int32_t group, const GdnMetadata& metadata) {
  const std::int32_t num_rows = num_real_rows(context);
  check_row_starts(context, {group, metadata.spec_query_start_loc}, 0, num_rows,
                   "spec_query_start_loc");
  for (std::int32_t row = 0; row < metadata.spec_sequence_masks.rows; ++row)
    if (!expect_equal(context, {row < num_rows, metadata.spec_sequence_masks.at(row),
                                "spec_sequence_masks", row, group}))
      break;
  for (std::int32_t token = 0; token < metadata.spec_token_indx.rows; ++token) {
    if (metadata.spec_token_indx.at(token) == token) continue;
    report(context, Rule::foreign_row_datum,
           {token, metadata.spec_token_indx.at(token), "spec_token_indx", -1, group});
    break;
  }
}

void check_gdn(CheckContext& context, std::int32_t group, const GdnMetadata& metadata) {
  const CommonAttentionMetadata& common = context.trace().common;
  const std::int32_t tokens =
      metadata.num_prefill_tokens + metadata.num_decode_tokens + metadata.num_spec_decode_tokens;
  const std::int32_t rows =
      metadata.num_prefills + metadata.num_decodes + metadata.num_spec_decodes;
  // Padding rows count as decodes, not as verify rows.
  const bool padded = metadata.num_spec_decodes == 0;
  expect_equal(context,
               {padded ? common.num_actual_tokens : query_start(context, num_real_rows(context)),
                tokens, "GDN token counts", -1, group});
  expect_equal(context,
               {padded ? common.num_reqs : num_real_rows(context), rows, "GDN rows", -1, group});
  expect_equal(context, {common.num_actual_tokens, metadata.num_actual_tokens, "num_actual_tokens",
                         -1, group});
  const TensorView<std::uint8_t>& masks = metadata.spec_sequence_masks;
  const bool mixed = metadata.num_prefills > 0 && masks.present;
  if (mixed) {
    check_mixed_rows(context, group, metadata,
                     {true, metadata.spec_query_start_loc, metadata.spec_token_indx,
                      "spec_query_start_loc", "spec_token_indx"});
    check_mixed_rows(context, group, metadata,
                     {false, metadata.non_spec_query_start_loc, metadata.non_spec_token_indx,
                      "non_spec_query_start_loc", "non_spec_token_indx"});
  } else if (metadata.num_spec_decodes > 0) {
    check_verify_rows(context, group, metadata);
  } else if (metadata.non_spec_query_start_loc.present) {
    check_row_starts(context, {group, metadata.non_spec_query_start_loc}, 0, num_real_rows(context),
                     "non_spec_query_start_loc");
  }
  check_gdn_counts(context, group, metadata);
  if (metadata.num_prefills == 0 || !metadata.non_spec_query_start_loc.present) return;
  const PackedRows packed{group, metadata.non_spec_query_start_loc};
  if (!expect_ascending(context, packed, "non_spec_query_start_loc")) return;
  check_conv_programs(context, packed, metadata.conv1d);
  check_fla_chunks(context, packed, metadata);
}

}  // namespace

void check_group_metadata(CheckContext& context, const GroupTrace& group) {
  const StepTrace& trace = context.trace();
  if (trace.graph.pads_metadata() && group.persistent_buffers_step != trace.step)
    report(context, Rule::stale_persistent_array,
           {trace.step, group.persistent_buffers_step,
            "the replayed graph's buffers were not written by this build", -1, group.group});
  if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata)) {
    check_mamba(context, group.group, *mamba);
  } else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata)) {
    const auto& flags = mamba2->base.has_initial_states_p;
    if (mamba2->base.num_prefills > 0)
      expect_equal(context, {std::any_of(flags.data, flags.data + mamba2->base.num_prefills,
                                         [](std::uint8_t flag) { return flag != 0; }),
                             mamba2->prep_initial_states, "prep_initial_states", -1, group.group});
    if (check_mamba(context, group.group, mamba2->base))
      check_ssd_chunks(context, prefill_rows(group.group, mamba2->base), mamba2->base.num_decodes,
                       *mamba2);
  } else if (const auto* gdn = std::get_if<GdnMetadata>(&*group.metadata)) {
    check_gdn(context, group.group, *gdn);
  }
}

}  // namespace hybridscope
