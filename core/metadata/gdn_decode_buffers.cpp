#include "core/metadata/gdn_decode_buffers.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/ids.h"
#include "core/metadata/builder_policies.h"

namespace hybridscope {
namespace {

// Copies the first n + 1 offsets and repeats the last one up to offset `padded`.
TensorView<std::int32_t> write_offsets(std::span<const std::int32_t> query_start_loc,
                                       std::int32_t n, std::int32_t padded,
                                       PersistentBuffer<std::int32_t>& target) {
  std::copy_n(query_start_loc.data(), n + 1, target.values.data());
  target.fill_rows(n + 1, padded + 1, query_start_loc[static_cast<std::size_t>(n)]);
  return target.head(padded + 1);
}

std::int32_t padded_rows(const GdnBuildInputs& inputs) {
  return inputs.policies.is(GdnBatch::padded_to_tokens) ? inputs.common.num_actual_tokens
                                                        : inputs.common.num_reqs;
}

}  // namespace

// Spec rows form few runs, mostly one: whole runs are copied.
void copy_spec_rows(const GdnBuildInputs& inputs, BlockTableWindow window, SpecRowTarget target) {
  const std::span<const std::uint8_t> masks = inputs.row_classes.spec_sequence_masks;
  for (auto begin = masks.begin(); begin != masks.end();) {
    begin = std::find_if(begin, masks.end(), [](std::uint8_t mask) { return mask != 0; });
    const auto end = std::find(begin, masks.end(), std::uint8_t{0});
    const auto first = static_cast<std::int32_t>(begin - masks.begin());
    const auto count = static_cast<std::int32_t>(end - begin);
    copy_window_rows(window, {.first = first, .count = count, .width = target.width},
                     target.state_indices);
    std::copy_n(inputs.num_accepted_tokens.data + first, count, target.num_accepted_tokens);
    target.state_indices += std::int64_t{count} * target.width;
    target.num_accepted_tokens += count;
    begin = end;
  }
}

GdnDecodeBuffers::GdnDecodeBuffers(const MambaBuilderConfig& config, std::int32_t rows)
    : spec_state_indices_tensor_(
          PersistentBuffer<std::int32_t>::matrix_of(rows, config.num_spec + 1, kNeverWritten)),
      spec_sequence_masks_(PersistentBuffer<std::uint8_t>::vector_of(rows, 0)) {
  const auto vector = PersistentBuffer<std::int32_t>::vector_of;
  non_spec_state_indices_tensor_ = vector(rows, kNeverWritten);
  spec_token_indx_ = vector(rows * (config.num_spec + 1), kNeverWritten);
  spec_query_start_loc_ = vector(rows + 1, kNeverWritten);
  non_spec_query_start_loc_ = vector(rows + 1, kNeverWritten);
  num_accepted_tokens_ = vector(rows, kNeverWritten);
}

Status GdnDecodeBuffers::check_spec(const BlockTableWindow& window) const {
  const std::int32_t cols = spec_state_indices_tensor_.cols;
  if (window.width >= cols || window.width == 1) return Ok{};
  return invalid_input("block table gives " + std::to_string(window.width) +
                       " columns, the persistent array has " + std::to_string(cols));
}

void GdnDecodeBuffers::write_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                                  GdnMetadata& metadata) {
  const std::int32_t n = metadata.num_spec_decodes;
  const std::int32_t padded = padded_rows(inputs);
  const std::int32_t width = std::min(window.width, spec_state_indices_tensor_.cols);
  copy_spec_rows(inputs, window,
                 {.width = width,
                  .state_indices = spec_state_indices_tensor_.values.data(),
                  .num_accepted_tokens = num_accepted_tokens_.values.data()});
  metadata.spec_state_indices_tensor = pad_spec_states(width, n, padded);

  std::copy_n(inputs.row_classes.spec_sequence_masks.data(), n, spec_sequence_masks_.values.data());
  spec_sequence_masks_.fill_rows(n, padded, 0);
  metadata.spec_sequence_masks = spec_sequence_masks_.head(padded);

  const std::int32_t tokens = metadata.spec_token_indx.rows;
  std::iota(spec_token_indx_.values.data(), spec_token_indx_.values.data() + tokens, 0);
  metadata.spec_token_indx = spec_token_indx_.head(tokens);

  metadata.spec_query_start_loc =
      write_offsets(inputs.common.query_start_loc, n, padded, spec_query_start_loc_);

  num_accepted_tokens_.fill_rows(n, padded, 1);
  metadata.num_accepted_tokens = num_accepted_tokens_.head(padded);
}

TensorView<std::int32_t> GdnDecodeBuffers::write_spec_states(const BlockTableWindow& window,
                                                             std::int32_t n, std::int32_t padded) {
  const std::int32_t width = std::min(window.width, spec_state_indices_tensor_.cols);
  copy_window_rows(window, {.count = n, .width = width}, spec_state_indices_tensor_.values.data());
  return pad_spec_states(width, n, padded);
}

// A single column is broadcast, last row first, so that no value is overwritten before it is read.
TensorView<std::int32_t> GdnDecodeBuffers::pad_spec_states(std::int32_t width, std::int32_t n,
                                                           std::int32_t padded) {
  const std::int32_t cols = spec_state_indices_tensor_.cols;
  const std::int32_t* states = spec_state_indices_tensor_.values.data();
  if (width < cols)
    for (std::int32_t r = n - 1; r >= 0; --r)
      std::fill_n(spec_state_indices_tensor_.row(r), cols, std::int32_t{states[r]});
  spec_state_indices_tensor_.fill_rows(n, padded, kNullBlock);
  return spec_state_indices_tensor_.head(padded);
}

TensorView<std::int32_t> GdnDecodeBuffers::write_non_spec_states(const BlockTableWindow& window,
                                                                 std::int32_t n,
                                                                 std::int32_t padded) {
  std::int32_t* states = non_spec_state_indices_tensor_.values.data();
  if (window.rows == n)
    copy_window_rows(window, {.count = n}, states);
  else
    std::fill_n(states, n, *window.row(0));
  non_spec_state_indices_tensor_.fill_rows(n, padded, kNullBlock);
  return non_spec_state_indices_tensor_.head(padded);
}

void GdnDecodeBuffers::write_non_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                                      GdnMetadata& metadata) {
  const std::int32_t n = metadata.num_decodes;
  const std::int32_t padded = padded_rows(inputs);
  metadata.non_spec_state_indices_tensor = write_non_spec_states(window, n, padded);
  metadata.non_spec_query_start_loc =
      write_offsets(inputs.common.query_start_loc, n, padded, non_spec_query_start_loc_);
}

GdnPersistentViews GdnDecodeBuffers::views() const {
  const auto all = [](const auto& buffer) { return buffer.head(buffer.rows); };
  return {.spec_state_indices_tensor = all(spec_state_indices_tensor_),
          .non_spec_state_indices_tensor = all(non_spec_state_indices_tensor_),
          .spec_sequence_masks = all(spec_sequence_masks_),
          .spec_token_indx = all(spec_token_indx_),
          .spec_query_start_loc = all(spec_query_start_loc_),
          .non_spec_query_start_loc = all(non_spec_query_start_loc_),
          .num_accepted_tokens = all(num_accepted_tokens_)};
}

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
