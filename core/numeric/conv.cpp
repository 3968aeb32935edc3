#include "core/numeric/conv.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/math.h"
#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

// The W - 1 tokens before a row, oldest first, followed by the row's own.
class Window {
 public:
  explicit Window(const ConvLayer& layer)
      : layer_(layer), dim_(static_cast<std::size_t>(layer.dim)) {}

  // Positions [offset, offset + W - 1) of `block`; those behind its end are NaN. Empty: zeros.
  void begin(std::span<const float> block, std::int32_t offset) {
    values_.assign(history_tokens() * dim_, 0.0F);
    if (block.empty()) return;
    const std::size_t first = std::min(static_cast<std::size_t>(offset) * dim_, block.size());
    const std::size_t count = std::min(values_.size(), block.size() - first);
    std::ranges::fill(values_, std::numeric_limits<float>::quiet_NaN());
    std::ranges::copy(block.subspan(first, count), values_.begin());
  }
  void append(std::span<const float> tokens) {
    values_.insert(values_.end(), tokens.begin(), tokens.end());
  }
  // The W - 1 tokens that a row has behind it after `num_tokens` of its own.
  std::span<const float> after(std::int32_t num_tokens) const {
    return values().subspan(static_cast<std::size_t>(num_tokens) * dim_, history_tokens() * dim_);
  }
  // `count` tokens from `first` on, where 0 is the oldest of the history.
  std::span<const float> slice(std::int32_t first, std::int32_t count) const {
    if (count == 0) return {};
    return values().subspan(static_cast<std::size_t>(first) * dim_,
                            static_cast<std::size_t>(count) * dim_);
  }
  // y becomes the convolution at the row's token t.
  void convolve(std::int32_t t, std::span<float> y) const {
    const auto width = static_cast<std::size_t>(layer_.width);
    const float* oldest = values_.data() + static_cast<std::size_t>(t) * dim_;
    for (std::size_t channel = 0; channel < dim_; ++channel) {
      float sum = layer_.bias.empty() ? 0.0F : layer_.bias[channel];
      for (std::size_t tap = 0; tap < width; ++tap)
        sum += oldest[tap * dim_ + channel] * layer_.weight[channel * width + tap];
      y[channel] = layer_.activation == ConvActivation::silu ? silu_f32(sum) : sum;
    }
  }

 private:
  std::size_t history_tokens() const { return static_cast<std::size_t>(layer_.width - 1); }
  std::span<const float> values() const { return values_; }

  const ConvLayer& layer_;
  std::size_t dim_;
  std::vector<float> values_;  // [W - 1 + row's tokens, dim]
};

void convolve_row(const Window& window, const BatchTokens& range, std::size_t dim,
                  std::span<float> y) {
  for (std::int32_t t = 0; t < range.size(); ++t)
    window.convolve(t, y.subspan(static_cast<std::size_t>(range.first + t) * dim, dim));
}

std::span<const float> tokens_of(const ConvLayer& layer, std::span<const float> x,
                                 const BatchTokens& range) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  return x.subspan(static_cast<std::size_t>(range.first) * dim,
                   static_cast<std::size_t>(range.size()) * dim);
}

// Known bug 58: the W - 1 tokens before token `end` of x, whatever row they are of; what is not
// there either is NaN.
std::vector<float> batch_tokens_before(const ConvLayer& layer, const ConvTokens& tokens,
                                       std::int32_t end) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  const auto in_front = static_cast<std::int32_t>(tokens.in_front.size() / dim);
  std::vector<float> window;
  for (std::int32_t t = end - layer.width + 1; t < end; ++t) {
    const bool is_in_x = t >= 0;
    const std::int32_t at = is_in_x ? t : in_front + t;
    if (at < 0) {
      window.insert(window.end(), dim, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const auto token =
        (is_in_x ? tokens.x : tokens.in_front).subspan(static_cast<std::size_t>(at) * dim, dim);
    window.insert(window.end(), token.begin(), token.end());
  }
  return window;
}

// Writes positions from `first` on; those that the block does not have are dropped.
void store(const StatePool& pool, std::int32_t block, std::span<const float> positions,
           std::size_t first) {
  if (!is_state_block(block)) return;
  const std::span<float> target = pool.block(block).subspan(first);
  const std::size_t count = std::min(positions.size(), target.size());
  std::ranges::copy(positions.first(count), target.begin());
}

}  // namespace

void conv_prefill(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                  const ConvTokens& tokens) {
  Window window(layer);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens range = rows.tokens(row);
    if (range.size() <= 0) continue;
    const bool reads = rows.has_initial_state(row);
    window.begin(reads ? pool.block(rows.source(row)) : std::span<float>(), 0);
    window.append(tokens_of(layer, tokens.x, range));
    convolve_row(window, range, static_cast<std::size_t>(layer.dim), tokens.y);
    std::int32_t piece = 0;
    for (const BoundaryState& boundary : boundary_states(rows, row)) {
      if (!layer.stores_boundaries_by_piece || !rows.is_mode_all())
        store(pool, boundary.block, window.after(boundary.num_tokens), 0);
      else if (++piece < cdiv(range.size(), kConvPieceTokens))
        store(pool, boundary.block,
              batch_tokens_before(layer, tokens, range.first + boundary.num_tokens), 0);
    }
    store(pool, rows.destination(row), window.after(range.size()), 0);
  }
}

void conv_update(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                 const ConvTokens& tokens) {
  Window window(layer);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens range = rows.tokens(row);
    if (range.size() <= 0) continue;
    const std::int32_t source = rows.conv_source(row);
    if (!is_state_block(source)) continue;
    window.begin(pool.block(source), rows.offset(row));
    window.append(tokens_of(layer, tokens.x, range));
    convolve_row(window, range, static_cast<std::size_t>(layer.dim), tokens.y);
    const std::int32_t destination = rows.destination(row, 0);
    if (rows.num_accepted_tokens.empty())
      store(pool, destination, window.after(range.size()), 0);
    else if (range.size() < layer.rolled_tokens)
      store(pool, destination,
            window.slice(layer.rolled_tokens - range.size() + 1,
                         std::max(layer.width - 2 + 2 * range.size() - layer.rolled_tokens, 0)),
            0);
    else  // W - 2 old tokens and all of the row's: which of them count is not known yet
      store(pool, destination, window.slice(1, layer.width - 2 + range.size()), 0);
  }
}

}  // namespace hybridscope
