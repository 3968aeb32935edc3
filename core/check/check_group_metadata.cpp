#include "core/check/check_group_metadata.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "core/check/mismatch.h"

namespace hybridscope {
namespace {

Rule rule_of(MismatchKind kind) {
  switch (kind) {
    case MismatchKind::inconsistent:
      return Rule::metadata_inconsistent;
    case MismatchKind::foreign_row:
      return Rule::foreign_row_datum;
    case MismatchKind::padding_runs_as_prefill:
      return Rule::padded_row_not_null;
  }
  return Rule::metadata_inconsistent;
}

bool fits(const NeededArray& array) {
  if (array.expected_rows == 0 || (array.present && array.rows >= array.expected_rows))
    return array.expected_rows >= 0;
  return false;
}

// Mamba: the count of decode or of prefill rows that is wrong; empty: none, or another kind of
// layer.
std::optional<MetadataMismatch> wrong_row_count(const BuilderMetadata& metadata,
                                                std::int32_t num_reqs) {
  const auto* const mamba2 = std::get_if<Mamba2Metadata>(&metadata);
  const auto* const mamba =
      mamba2 != nullptr ? &mamba2->base : std::get_if<MambaMetadata>(&metadata);
  return mamba == nullptr ? std::nullopt : hybridscope::wrong_row_count(*mamba, num_reqs);
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
