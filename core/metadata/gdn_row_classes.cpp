#include "core/metadata/gdn_row_classes.h"

#include <algorithm>
#include <string>

#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_builder_policies.h"

namespace hybridscope {
namespace {

Error bad_size(const char* what, std::int64_t size, std::int32_t num_reqs) {
  return invalid_input(std::string(what) + " has " + std::to_string(size) + " entries for " +
                       std::to_string(num_reqs) + " rows");
}

// GdnBatch::first_chunks_as_prefills. A batch that is captured has no state either, but does not
// prefill.
Result<BatchSplit> split_at_first_chunk(const CommonAttentionMetadata& common,
                                        std::span<std::uint8_t> first_chunks) {
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  if (first_chunks.size() < rows)
    return bad_size("mask storage", static_cast<std::int64_t>(first_chunks.size()),
                    common.num_reqs);
  if (common.query_start_loc.size() != rows + 1 || common.seq_lens.size() != rows)
    return bad_size("seq_lens", static_cast<std::int64_t>(common.seq_lens.size()), common.num_reqs);
  const bool given = common.is_prefilling.size() == rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t len = query_len(common, static_cast<std::int32_t>(row));
    const bool first = len > 0 && common.seq_lens[row] <= len;
    first_chunks[row] = given && first && common.is_prefilling[row] != 0 ? 1 : 0;
  }
  CommonAttentionMetadata classed = common;
  classed.is_prefilling = first_chunks.first(rows);
  auto split = split_decodes_and_prefills_v2(
      classed, {.decode_threshold = 1, .treat_short_extends_as_decodes = false});
  if (!split || split.value().num_prefills == 0) return split;
  BatchSplit& counted = split.value();
  for (std::int32_t row = counted.num_decodes; row < common.num_reqs; ++row)
    if (query_len(common, row) == 0) --counted.num_prefills;
  const auto end = static_cast<std::size_t>(counted.num_decodes + counted.num_prefills);
  counted.num_prefill_tokens = common.query_start_loc[end] - counted.num_decode_tokens;
  return split;
}

}  // namespace

Result<GdnRowClasses> classify_gdn_rows_by_drafts(const CommonAttentionMetadata& common,
                                                  const GdnDraftCounts& drafts,
                                                  std::span<std::uint8_t> masks) {
  const TensorView<std::int32_t>& counts = drafts.num_decode_draft_tokens;
  // A row with a count of 0 adds to the sum only where such rows are spec rows by themselves.
  const std::int32_t base = drafts.zero_drafts == ZeroDrafts::spec_rows ? 1 : 0;
  std::int64_t sum = 0;
  if (drafts.num_spec > 0 && counts.present)
    for (std::int32_t row = 0; row < counts.rows; ++row) sum += std::max(counts.at(row) + base, 0);
  if (sum == 0) {
    const auto split = drafts.batch == GdnBatch::first_chunks_as_prefills
                           ? split_at_first_chunk(common, masks)
                           : split_decodes_and_prefills_v2(common, {.decode_threshold = 1});
    if (!split) return split.error();
    return GdnRowClasses{.split = split.value()};
  }
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  if (counts.rows != common.num_reqs)
    return bad_size("num_decode_draft_tokens", counts.rows, common.num_reqs);
  if (masks.size() < rows)
    return bad_size("mask storage", static_cast<std::int64_t>(masks.size()), common.num_reqs);
  for (std::size_t row = 0; row < rows; ++row) masks[row] = counts.data[row] >= 0 ? 1 : 0;
  return GdnRowClasses{.spec_batch = true, .spec_sequence_masks = masks.first(rows)};
}

Result<GdnRowClasses> classify_gdn_rows_by_class(const CommonAttentionMetadata& common,
                                                 const GdnRowClassInput& input,
                                                 std::span<std::uint8_t> masks) {
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  if (input.row_classes.size() != rows)
    return bad_size("row_classes", static_cast<std::int64_t>(input.row_classes.size()),
                    common.num_reqs);
  if (masks.size() < rows)
    return bad_size("mask storage", static_cast<std::int64_t>(masks.size()), common.num_reqs);
  static_assert(RowClass::decode < RowClass::verify && RowClass::verify < RowClass::prefill &&
                RowClass::verify < RowClass::padding);
  const std::uint8_t speculating = input.num_spec > 0 ? 1 : 0;
  const std::span<const RowClass> row_classes = input.row_classes;  // stores cannot change it
  std::uint8_t any_spec_row = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    // Without a branch, so that the compiler can vectorise it.
    const auto decodes = static_cast<std::uint8_t>(row_classes[row] <= RowClass::verify);
    const auto mask = static_cast<std::uint8_t>(decodes & speculating);
    masks[row] = mask;
    any_spec_row |= mask;
  }
  if (any_spec_row != 0)
    return GdnRowClasses{.spec_batch = true, .spec_sequence_masks = masks.first(rows)};
  const auto split = split_by_row_class({.row_classes = input.row_classes,
                                         .query_start_loc = common.query_start_loc,
                                         .num_actual_tokens = common.num_actual_tokens});
  if (!split) return split.error();
  return GdnRowClasses{.split = split.value()};
}

}  // namespace hybridscope
