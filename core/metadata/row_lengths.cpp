#include "core/metadata/row_lengths.h"

#include <numeric>
#include <variant>

namespace hybridscope {
namespace {

using Lengths = std::vector<std::int32_t>;
using Computed = std::span<const std::int32_t>;

// Row `index` of packed rows; -1: the offsets do not have it.
std::int32_t length_at(const TensorView<std::int32_t>& starts, std::int32_t index) {
  return starts.present && index >= 0 && index + 1 < starts.rows
             ? starts.at(index + 1) - starts.at(index)
             : -1;
}

bool sums_up(const Lengths& lengths, std::int32_t tokens) {
  return std::accumulate(lengths.begin(), lengths.end(), 0) == tokens;
}

bool tell_lengths(const MambaMetadata& m, Computed computed, Lengths& lengths) {
  for (std::size_t r = 0; r < computed.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    const bool decodes = row < m.num_decodes;
    std::int32_t length = decodes ? length_at(m.query_start_loc_d, row)
                                  : length_at(m.query_start_loc_p, row - m.num_decodes);
    if (decodes && !m.query_start_loc_d.present) length = 1;
    const bool agrees = m.seq_lens.present && row < m.seq_lens.rows && length > 0 &&
                        m.seq_lens.at(row) == computed[r] + length;
    if (!agrees) return false;
    lengths.push_back(length);
  }
  // Padding counts as decode tokens.
  const std::int32_t tokens = m.num_decode_tokens + m.num_prefill_tokens;
  return m.num_prefills == 0 || sums_up(lengths, tokens);
}

bool tell_lengths(const Mamba2Metadata& m, Computed computed, Lengths& lengths) {
  return tell_lengths(m.base, computed, lengths);
}

bool tell_lengths(const GdnMetadata& m, Computed computed, Lengths& lengths) {
  const auto num_rows = static_cast<std::int32_t>(computed.size());
  const bool all_spec = m.num_prefills == 0 && m.num_spec_decodes > 0;
  const bool has_masks = m.spec_sequence_masks.present && m.spec_sequence_masks.rows >= num_rows;
  if (!all_spec && m.num_spec_decodes > 0 && !has_masks) return false;
  std::int32_t spec = 0;
  std::int32_t others = 0;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const bool is_spec =
        all_spec || (has_masks && m.num_spec_decodes > 0 && m.spec_sequence_masks.at(row) != 0);
    lengths.push_back(is_spec ? length_at(m.spec_query_start_loc, spec++)
                              : length_at(m.non_spec_query_start_loc, others++));
    if (lengths.back() <= 0) return false;
  }
  const std::int32_t tokens = m.num_prefill_tokens + m.num_decode_tokens + m.num_spec_decode_tokens;
  return sums_up(lengths, tokens);
}

}  // namespace

bool tell_row_lengths(const BuilderMetadata& metadata,
                      std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  lengths.clear();
  return std::visit(
      [&](const auto& own) { return tell_lengths(own, num_computed_tokens, lengths); }, metadata);
}

}  // namespace hybridscope
