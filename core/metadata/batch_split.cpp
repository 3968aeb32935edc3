#include "core/metadata/batch_split.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace hybridscope {
namespace {

BatchSplit all_decodes(const CommonAttentionMetadata& common) {
  return {common.num_reqs, 0, common.num_actual_tokens, 0};
}

BatchSplit all_prefills(const CommonAttentionMetadata& common) {
  return {0, common.num_reqs, 0, common.num_actual_tokens};
}

BatchSplit split_at(const CommonAttentionMetadata& common, std::int32_t first_prefill) {
  if (first_prefill == common.num_reqs) return all_decodes(common);
  const std::int32_t tokens = common.query_start_loc[static_cast<std::size_t>(first_prefill)];
  return {first_prefill, common.num_reqs - first_prefill, tokens,
          common.num_actual_tokens - tokens};
}

Status check_sizes(const CommonAttentionMetadata& common) {
  if (common.num_reqs < 0 ||
      common.query_start_loc.size() != static_cast<std::size_t>(common.num_reqs) + 1)
    return invalid_input("query_start_loc has " + std::to_string(common.query_start_loc.size()) +
                         " entries for " + std::to_string(common.num_reqs) +
                         " rows (expected one more than rows)");
  return Ok{};
}

Status check_is_prefilling(const CommonAttentionMetadata& common) {
  if (common.is_prefilling.size() != static_cast<std::size_t>(common.num_reqs))
    return invalid_input("is_prefilling has " + std::to_string(common.is_prefilling.size()) +
                         " entries for " + std::to_string(common.num_reqs) + " rows");
  return Ok{};
}

bool is_prefilling(const CommonAttentionMetadata& common, std::int32_t row) {
  return common.is_prefilling[static_cast<std::size_t>(row)] != 0;
}

// First row for which `is_prefill` holds, num_reqs if none.
template <class Predicate>
std::int32_t first_prefill_row(const CommonAttentionMetadata& common, Predicate is_prefill) {
  std::int32_t row = 0;
  while (row < common.num_reqs && !is_prefill(row)) ++row;
  return row;
}

// Does every row have as many tokens as the first one, or none?
bool uniform_or_padding(const CommonAttentionMetadata& common) {
  const std::int32_t first_len = query_len(common, 0);
  const auto differs = [&](std::int32_t row) {
    const std::int32_t len = query_len(common, row);
    return len != first_len && len != 0;
  };
  return first_prefill_row(common, differs) == common.num_reqs;
}

// Is row `row` a prefill by its length alone?
struct ByLength {
  const CommonAttentionMetadata& common;
  std::int32_t decode_threshold;
  bool require_uniform;
  std::int32_t first_len;

  bool operator()(std::int32_t row) const {
    const std::int32_t len = query_len(common, row);
    return require_uniform ? len != first_len : len > decode_threshold;
  }
};

// decode and verify rows, then prefills, then padding.
std::uint8_t rank_of(RowClass row_class) {
  const RowClass rank = row_class == RowClass::decode ? RowClass::verify : row_class;
  return static_cast<std::uint8_t>(rank);
}
static_assert(RowClass::verify < RowClass::prefill && RowClass::prefill < RowClass::padding);

// The first row whose rank is below that of the row before it; their number if there is none. A
// pass that the compiler can vectorise comes first: hardly any batch has such a row.
std::size_t first_row_out_of_order(std::span<const RowClass> rows) {
  std::uint8_t any = 0;
  for (std::size_t row = 1; row < rows.size(); ++row)
    any |= static_cast<std::uint8_t>(rank_of(rows[row]) < rank_of(rows[row - 1]));
  if (any == 0) return rows.size();
  std::size_t row = 1;
  while (rank_of(rows[row]) >= rank_of(rows[row - 1])) ++row;
  return row;
}

Error no_rows(const CommonAttentionMetadata& common) {
  return invalid_input("no rows, but max_query_len is " + std::to_string(common.max_query_len));
}

}  // namespace

Result<BatchSplit> split_decodes_and_prefills(const CommonAttentionMetadata& common,
                                              const SplitOptions& options) {
  if (auto status = check_sizes(common); !status) return status.error();
  const std::int32_t threshold = options.decode_threshold;
  if (common.max_query_len <= threshold && (!options.require_uniform || threshold <= 1))
    return all_decodes(common);
  if (common.num_reqs == 0) return no_rows(common);
  const std::int32_t first_len = query_len(common, 0);
  if (first_len > threshold) return all_prefills(common);
  if (options.require_uniform && uniform_or_padding(common)) {
    if (static_cast<std::int64_t>(common.num_reqs) * first_len != common.num_actual_tokens)
      return invalid_input("uniform decode batch of " + std::to_string(common.num_reqs) +
                           " rows of " + std::to_string(first_len) + " tokens has " +
                           std::to_string(common.num_actual_tokens) + " tokens");
    return all_decodes(common);
  }
  const std::int32_t first_prefill =
      first_prefill_row(common, ByLength{common, threshold, options.require_uniform, first_len});
  // Rows before it have at most first_len tokens, which is not above the threshold.
  return split_at(common, first_prefill);
}

Result<BatchSplit> split_decodes_and_prefills_v2(const CommonAttentionMetadata& common,
                                                 const SplitOptionsV2& options) {
  if (auto status = check_sizes(common); !status) return status.error();
  const std::int32_t threshold = options.decode_threshold;
  if (options.treat_short_extends_as_decodes && common.max_query_len <= threshold &&
      (!options.require_uniform || threshold <= 1))
    return all_decodes(common);
  if (common.num_reqs == 0) return no_rows(common);
  const std::int32_t first_len = query_len(common, 0);
  if (first_len > threshold) return all_prefills(common);
  if (options.require_uniform && uniform_or_padding(common)) return all_decodes(common);
  const ByLength by_length{common, threshold, options.require_uniform, first_len};
  if (options.treat_short_extends_as_decodes)
    return split_at(common, first_prefill_row(common, by_length));
  if (auto status = check_is_prefilling(common); !status) return status.error();
  return split_at(common, first_prefill_row(common, [&](std::int32_t row) {
                    return by_length(row) || is_prefilling(common, row);
                  }));
}

Result<BatchSplit> split_by_row_class(const RowClassBatch& batch) {
  CommonAttentionMetadata common;
  common.query_start_loc = batch.query_start_loc;
  common.num_reqs = static_cast<std::int32_t>(batch.row_classes.size());
  common.num_actual_tokens = batch.num_actual_tokens;
  if (auto status = check_sizes(common); !status) return status.error();
  if (const std::size_t row = first_row_out_of_order(batch.row_classes);
      row < batch.row_classes.size())
    return invalid_input("row " + std::to_string(row) +
                         " is out of order: decode rows come first, then prefills, then padding");
  const auto decodes_end =
      std::ranges::lower_bound(batch.row_classes, rank_of(RowClass::prefill), {}, rank_of);
  const auto padding =
      std::ranges::lower_bound(batch.row_classes, rank_of(RowClass::padding), {}, rank_of);
  // Without a prefill, padding rows are decodes.
  const std::int32_t first_prefill =
      decodes_end == padding ? common.num_reqs
                             : static_cast<std::int32_t>(decodes_end - batch.row_classes.begin());
  return split_at(common, first_prefill);
}

}  // namespace hybridscope
