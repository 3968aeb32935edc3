// The convolution of prompt rows: token after token, with a window that moves along.
#pragma once

#include <cstdint>

#include "kernels/numeric/conv_window.cuh"

namespace hybridscope::numeric_cuda {

// Rows of a thread, which loads the weights of its channels once.
inline constexpr int kConvPrefillRows = 2;

template <int kWidth, int kSize, class Tokens>
__global__ void __launch_bounds__(kConvThreads)
    conv_prefill(const __grid_constant__ ConvTask<Tokens, PrefillRows> task) {
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
      store(walk.after(t));
    }
    store(walk.last());
  }
}

}  // namespace hybridscope::numeric_cuda
