// The convolution of rows on the device: decode and verify rows, and prompt rows.
#pragma once

#include <cstdint>

#include "core/base/math.h"
#include "kernels/cuda/lane_kernel.cuh"
#include "kernels/numeric/conv_window.cuh"

namespace hybridscope::numeric_cuda {

// The convolution of decode and verify rows. A thread has a few channels of a few rows: it asks for
// all blocks, then for all that it reads, and only then works, so that memory is waited for twice.

// Rows of a thread, tokens of a row whose inputs are loaded at once, and blocks of a
// multiprocessor, which bounds registers. kCounts: rows count accepted tokens, and have several.
template <bool kCounts>
inline constexpr int kConvRows = kCounts ? 1 : 2;
template <bool kCounts>
inline constexpr int kConvAhead = kCounts ? 3 : 1;
template <bool kCounts>
inline constexpr int kConvBlocks = kCounts ? 6 : 8;

// What a row's arrays say. A row without tokens has no blocks.
template <class T>
struct ConvRow {
  const T* from = nullptr;  // the window's first position; null: the row is padding
  std::int32_t count = 0;   // positions of the block from there on; W - 1 and more without counts
  T* to = nullptr;          // a block; null: none
  BatchTokens tokens{};
};
template <class Tokens>
__device__ ConvRow<typename Tokens::Element> conv_row(const ConvTask<Tokens, DecodeRows>& task,
                                                      std::int32_t row) {
  ConvRow<typename Tokens::Element> found;
  if (row >= task.rows.num_rows()) return found;
  const std::int32_t source = task.rows.conv_source(row);
  const std::int32_t destination = task.rows.destination(row, 0);
  const std::int64_t offset = task.rows.offset(row);
  found.tokens = task.rows.tokens(row);
  if (found.tokens.size() <= 0) return found;
  if (is_state_block(source)) found.from = task.pool.block(source) + offset * task.layer.dim;
  found.count = task.layer.state_len - static_cast<std::int32_t>(offset);
  if (is_state_block(destination)) found.to = task.pool.block(destination);
  return found;
}

// Outputs of a row and its block, in the channels of a thread. `window`: what the row continues;
// `ahead`: its first tokens.
template <bool kCounts, bool kRolls, int kWidth, int kSize, int kAhead, class Tokens>
__device__ void convolve_row(const ConvTask<Tokens, DecodeRows>& task,
                             const ConvRow<typename Tokens::Element>& row, std::int32_t channel,
                             const ConvWeights<kWidth, kSize>& weights,
                             ConvWindow<kWidth, kSize, typename Tokens::Element>& window,
                             const Channels<typename Tokens::Element, kSize> (&ahead)[kAhead]) {
  using T = typename Tokens::Element;
  const std::int64_t dim = task.layer.dim;
  const BatchTokens tokens = row.tokens;
  if (row.from == nullptr)
    return zero_tokens<kSize>(task.tokens, tokens.first, tokens.last, channel);
  const auto input = [&](std::int32_t t) {
    return task.tokens.template input<kSize>(tokens.first + t, channel);
  };
  T* to = row.to == nullptr ? nullptr : row.to + channel;
  if (kRolls && to != nullptr && tokens.size() < task.layer.rolled_tokens) {
    window.roll(to, task.layer, tokens.size(), input);
    to = nullptr;  // nothing else is stored
  }
  // With counts: W - 2 old tokens and all of the row's; which of them count is not known yet.
  if (kCounts && to != nullptr) window.store(to, dim, 1);
  const auto take = [&](std::int32_t t, const Channels<T, kSize>& token) {
    float sums[kSize];
    window.convolve(weights, token, sums);
    task.tokens.template output<kSize>(tokens.first + t, channel, sums, task.layer.activation);
    const std::int32_t position = kWidth - 2 + t;
    if (kCounts && to != nullptr && position < task.layer.state_len)
      *reinterpret_cast<Channels<T, kSize>*>(to + position * dim) = token;
  };
#pragma unroll
  for (int t = 0; t < kAhead; ++t)
    if (t < tokens.size()) take(t, ahead[t]);
#pragma unroll 1
  for (std::int32_t t = kAhead; t < tokens.size(); ++t) take(t, input(t));
  if (!kCounts && to != nullptr) window.store(to, dim, 0);
}

// kRolls: rows with counts roll their blocks by rolled_tokens (known bug 47).
template <int kWidth, int kSize, bool kCounts, bool kRolls, class Tokens>
__global__ void __launch_bounds__(kConvThreads, kConvBlocks<kCounts>)
    conv_decode(const __grid_constant__ ConvTask<Tokens, DecodeRows> task) {
  using T = typename Tokens::Element;
  constexpr int kAhead = kConvAhead<kCounts>;
  wait_for_previous_kernel();
  const std::int32_t channel = conv_channel<kSize>();
  if (channel >= task.layer.dim) return;
  constexpr int kRows = kConvRows<kCounts>;
  const std::int32_t first_row = static_cast<int>(blockIdx.x) * kRows;
  if (first_row >= task.rows.num_rows())
    return zero_tokens<kSize>(task.tokens, end_of_rows(task.rows), task.num_tokens, channel);
  const std::int64_t dim = task.layer.dim;
  ConvRow<T> rows[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) rows[i] = conv_row(task, first_row + i);
  const auto input = [&](std::int64_t token) {
    return task.tokens.template input<kSize>(token, channel);
  };
  Channels<T, kSize> inputs[kRows][kAhead];
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int t = 0; t < kAhead; ++t)
      if (t < rows[i].tokens.size()) inputs[i][t] = input(rows[i].tokens.first + t);
  const ConvWeights<kWidth, kSize> weights(task.layer, channel);
  ConvWindow<kWidth, kSize, T> windows[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    if (rows[i].from != nullptr)
      windows[i].begin(rows[i].from + channel, dim, kCounts ? rows[i].count : kWidth - 1);
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    convolve_row<kCounts, kRolls>(task, rows[i], channel, weights, windows[i], inputs[i]);
}

// The convolution of prompt rows: token after token, with a window that moves along.

// Rows of a thread, which loads the weights of its channels once.
inline constexpr int kConvPrefillRows = 2;

// With what known bug 58 reads: the inputs of the tokens in front of the task's own.
template <class Tokens>
struct PrefillTask : ConvTask<Tokens, PrefillRows> {
  Tokens in_front;
  std::int32_t num_in_front = 0;
};

// Known bug 58: the inputs of the W - 1 tokens before token `end` of the task, whatever row they
// are of; what is not there either is NaN. `to`: the block's first position.
template <int kWidth, int kSize, class Tokens>
__device__ void store_batch_tokens(const PrefillTask<Tokens>& task, std::int32_t end,
                                   std::int32_t channel, typename Tokens::Element* to) {
  using T = typename Tokens::Element;
  for (std::int32_t t = end - kWidth + 1; t < end; ++t, to += task.layer.dim) {
    Channels<T, kSize> position;
    if (t >= 0) {
      position = task.tokens.template input<kSize>(t, channel);
    } else if (task.num_in_front + t >= 0) {
      position = task.in_front.template input<kSize>(task.num_in_front + t, channel);
    } else {
      float values[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) values[i] = __int_as_float(0x7FC00000);
      position = packed<T>(values);
    }
    *reinterpret_cast<Channels<T, kSize>*>(to) = position;
  }
}

// Known bug 58: the boundaries of a row that has a piece more of tokens each, as boundary_states
// counts them.
template <int kWidth, int kSize, class Tokens>
__device__ void store_boundaries_by_piece(const PrefillTask<Tokens>& task, std::int32_t row,
                                          std::int32_t channel) {
  const BatchTokens tokens = task.rows.tokens(row);
  const BoundaryColumns columns = boundary_columns(task.rows, row);
  const std::int32_t last = min(columns.last, task.rows.state_indices.cols);
  std::int32_t num_tokens = columns.num_tokens;
  std::int32_t piece = 0;
  for (std::int32_t column = max(columns.first, 0); column < last; ++column) {
    if (num_tokens > tokens.size() || ++piece >= cdiv(tokens.size(), kConvPieceTokens)) return;
    const std::int32_t block = task.rows.state_indices.at(row, column);
    if (is_state_block(block))
      store_batch_tokens<kWidth, kSize>(task, tokens.first + num_tokens, channel,
                                        task.pool.block(block) + channel);
    num_tokens += task.rows.mamba_block_size;
  }
}

// kByPiece: mode all, and known bug 58.
template <int kWidth, int kSize, bool kByPiece, class Tokens>
__global__ void __launch_bounds__(kConvThreads)
    conv_prefill(const __grid_constant__ PrefillTask<Tokens> task) {
  const std::int32_t first_row = static_cast<int>(blockIdx.x) * kConvPrefillRows;
  const std::int32_t channel = conv_channel<kSize>();
  if (channel >= task.layer.dim) return;
  if (first_row >= task.rows.num_rows())
    return zero_tokens<kSize>(task.tokens, end_of_rows(task.rows), task.num_tokens, channel);
  const ConvWeights<kWidth, kSize> weights(task.layer, channel);
  ConvWindow<kWidth, kSize, typename Tokens::Element> window;
  const std::int32_t last_row = min(first_row + kConvPrefillRows, task.rows.num_rows());
  for (std::int32_t row = first_row; row < last_row; ++row) {
    RowWalk<PrefillRows> walk(task.rows, row, true);
    const BatchTokens tokens = walk.tokens();
    if (tokens.size() <= 0) continue;
    window.begin(is_state_block(walk.source()) ? task.pool.block(walk.source()) + channel : nullptr,
                 task.layer.dim, task.layer.state_len);
    const auto store = [&](std::int32_t block) {
      if (is_state_block(block)) window.store(task.pool.block(block) + channel, task.layer.dim, 0);
    };
    auto next = task.tokens.template input<kSize>(tokens.first, channel);
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      const auto token = next;
      if (t + 1 < tokens.size())
        next = task.tokens.template input<kSize>(tokens.first + t + 1, channel);
      float sums[kSize];
      window.convolve(weights, token, sums);
      task.tokens.template output<kSize>(tokens.first + t, channel, sums, task.layer.activation);
      if constexpr (!kByPiece) store(walk.after(t));
    }
    if constexpr (kByPiece) store_boundaries_by_piece<kWidth, kSize>(task, row, channel);
    store(walk.last());
  }
}

}  // namespace hybridscope::numeric_cuda
