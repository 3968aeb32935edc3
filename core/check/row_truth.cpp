#include "core/check/row_truth.h"

#include "core/base/check.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

void RowTruth::fold(const StepTrace& trace, std::int32_t conv_kernel) {
  history_len_ = conv_kernel - 1;
  rows_.clear();
  const std::size_t total =
      trace.tokens.size() + trace.rows.size() * static_cast<std::size_t>(history_len_);
  if (values_.size() < total) values_.resize(total);
  std::size_t out = 0;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const auto begin = static_cast<std::size_t>(trace.common.query_start_loc[r]);
    const auto end = static_cast<std::size_t>(trace.common.query_start_loc[r + 1]);
    HS_EXPECT(begin <= end && end <= trace.tokens.size());
    rows_.push_back({static_cast<std::int64_t>(out), row.num_computed_tokens,
                     static_cast<std::int32_t>(end - begin)});
    for (const Fingerprint fingerprint : trace.history_of(row, conv_kernel))
      values_[out++] = fingerprint;
    Fingerprint prefix = values_[out - 1];
    for (std::size_t i = begin; i < end; ++i) {
      prefix = extend_fingerprint(prefix, trace.tokens[i]);
      values_[out++] = prefix;
    }
  }
}

std::span<const Fingerprint> RowTruth::prefixes(std::int32_t row) const {
  const Row& r = rows_[static_cast<std::size_t>(row)];
  return std::span(values_).subspan(static_cast<std::size_t>(r.first + history_len_ - 1),
                                    static_cast<std::size_t>(r.query) + 1);
}

std::span<const Fingerprint> RowTruth::history(std::int32_t row) const {
  return std::span(values_).subspan(
      static_cast<std::size_t>(rows_[static_cast<std::size_t>(row)].first),
      static_cast<std::size_t>(history_len_));
}

Fingerprint RowTruth::at(std::int32_t row, std::int32_t position) const {
  const Row& r = rows_[static_cast<std::size_t>(row)];
  const std::int32_t index = position - r.computed + history_len_ - 1;
  HS_EXPECT(index >= 0 && index < history_len_ + r.query);
  return position <= 0 ? kBeforeFirstToken : values_[static_cast<std::size_t>(r.first + index)];
}

std::int32_t RowTruth::num_computed_tokens(std::int32_t row) const {
  return rows_[static_cast<std::size_t>(row)].computed;
}

std::int32_t RowTruth::num_query_tokens(std::int32_t row) const {
  return rows_[static_cast<std::size_t>(row)].query;
}

}  // namespace hybridscope
