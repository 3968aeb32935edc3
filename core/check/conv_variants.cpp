#include "core/check/conv_variants.h"

#include "core/base/math.h"

namespace hybridscope {
namespace {

// The tokens of a piece of causal_conv1d_fn (KernelVariants::stores_boundaries_by_piece).
constexpr std::int32_t kConvPiece = 8;

// What stands `distance` tokens in front of the row in the batch; poison: nothing.
Fingerprint token_in_front(const RowTruth& truth, std::int32_t row, std::int32_t distance) {
  for (std::int32_t before = row - 1; before >= 0; --before) {
    const std::int32_t length = truth.num_query_tokens(before);
    if (distance <= length)
      return truth.at(before, truth.num_computed_tokens(before) + length - distance + 1);
    distance -= length;
  }
  return kPoison;
}

}  // namespace

std::optional<ConvWindow> history_by_piece(const RowTruth& truth, std::int32_t row,
                                           std::size_t index, std::int32_t conv_kernel) {
  const auto piece = static_cast<std::int32_t>(index) + 1;
  if (piece >= cdiv(truth.num_query_tokens(row), kConvPiece)) return std::nullopt;
  const std::int32_t length = conv_kernel - 1;
  ConvWindow window{};
  for (std::int32_t i = 0; i < length; ++i)
    window[static_cast<std::size_t>(i)] = token_in_front(truth, row, length - i);
  return window;
}

void roll_by_window(const RowTruth& truth, const DecodeRow& row, const CheckConfig& config,
                    const ConvWindow& prior, std::span<Fingerprint> conv) {
  const std::int32_t history = config.conv_kernel - 1;
  const std::int32_t shift = 1 + config.num_speculative_tokens - row.num_query_tokens + 1;
  for (std::int32_t i = 0; i + shift < history + row.num_query_tokens; ++i) {
    const std::int32_t from = i + shift;
    conv[static_cast<std::size_t>(i)] =
        from < history ? prior[static_cast<std::size_t>(from)]
                       : truth.at(row.row, truth.num_computed_tokens(row.row) + 1 + from - history);
  }
}

bool window_spills(const CheckConfig& config, const DecodeRow& row) {
  if (config.missing_conv_positions() == 0 || !row.counts_given) return false;
  return config.conv_kernel - 2 + row.num_query_tokens > config.conv_window_len;
}

}  // namespace hybridscope
