// The convolution of prompt rows: token after token, with a window that moves along.
#pragma once

#include <cstdint>

#include "core/base/math.h"
#include "kernels/numeric/conv_window.cuh"

namespace hybridscope::numeric_cuda {

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
