#include "core/check/symbolic_state.h"

#include <algorithm>

namespace hybridscope {

SymbolicState::SymbolicState(const SymbolicStateSize& size)
    : conv_state_len_(size.conv_state_len),
      temporal_(static_cast<std::size_t>(size.num_blocks)),
      attention_(static_cast<std::size_t>(size.num_blocks)),
      conv_(
          static_cast<std::size_t>(size.num_blocks) * static_cast<std::size_t>(size.conv_state_len),
          kPoison),
      conv_event_(static_cast<std::size_t>(size.num_blocks)),
      hash_block_size_(size.hash_block_size),
      num_inner_(size.num_inner_hash_blocks),
      inner_(static_cast<std::size_t>(size.num_blocks) *
             static_cast<std::size_t>(size.num_inner_hash_blocks)) {}

bool SymbolicState::attention_holds(std::int32_t block, std::int32_t num_slots,
                                    Fingerprint prefix) const {
  const AttentionSlots& slots = attention(block);
  if (slots.filled == num_slots) return slots.last == prefix;
  return slots.filled > num_slots && num_slots > 0 && ends_hash_block(num_slots) &&
         inner_[inner_index(block, num_slots / hash_block_size_ - 1)] == prefix;
}

void SymbolicState::copy_block(std::int32_t source, std::int32_t destination) {
  temporal(destination) = temporal(source);
  attention(destination) = attention(source);
  conv_event(destination) = conv_event(source);
  std::ranges::copy(conv(source), conv(destination).begin());
  for (std::int32_t inner = 0; inner < num_inner_; ++inner)
    inner_[inner_index(destination, inner)] = inner_[inner_index(source, inner)];
}

void SymbolicState::poison(std::int32_t block) {
  temporal(block) = {};
  attention(block) = {};
  conv_event(block) = {};
  std::ranges::fill(conv(block), kPoison);
}

void SymbolicState::zero(std::int32_t block) {
  poison(block);
  temporal(block).fingerprint = kBeforeFirstToken;
  std::ranges::fill(conv(block), kBeforeFirstToken);
}

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
