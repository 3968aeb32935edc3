#include "kernels/numeric/recurrences_cuda.h"

#include <cuda_runtime.h>

#include <string>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/conv_rows.cuh"
#include "kernels/numeric/conv_staged.cuh"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

template <int kSize, int kRows, class Rows>
dim3 conv_grid(const Rows& rows, std::int32_t dim) {
  constexpr int kPerBlock = kConvThreads * kSize;
  return {static_cast<unsigned int>(conv_groups<kRows>(rows)),
          static_cast<unsigned int>((dim + kPerBlock - 1) / kPerBlock), 1};
}

template <int kWidth, int kSize, class Tokens>
Status launch_width(const PrefillTask<Tokens>& task, CUstream_st* stream) {
  const dim3 grid = conv_grid<kSize, kConvPrefillRows>(task.rows, task.layer.dim);
  if (grid.y == 0) return Ok{};
  const auto kernel = task.layer.stores_boundaries_by_piece && task.rows.is_mode_all()
                          ? conv_prefill<kWidth, kSize, true, Tokens>
                          : conv_prefill<kWidth, kSize, false, Tokens>;
  kernel<<<grid, kConvThreads, 0, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of a convolution");
}

template <int kWidth, int kSize, class Tokens>
Status launch_width(const ConvTask<Tokens, DecodeRows>& task, CUstream_st* stream) {
  const bool has_counts = !task.rows.num_accepted_tokens.empty();
  const dim3 grid = has_counts ? conv_grid<kSize, kConvRows<true>>(task.rows, task.layer.dim)
                               : conv_grid<kSize, kConvRows<false>>(task.rows, task.layer.dim);
  if (grid.y == 0) return Ok{};
  const auto kernel = !has_counts ? conv_decode<kWidth, kSize, false, false, Tokens>
                      : task.layer.rolled_tokens > 0
                          ? conv_decode<kWidth, kSize, true, true, Tokens>
                          : conv_decode<kWidth, kSize, true, false, Tokens>;
  return cuda_status(launch_early(kernel, {grid, kConvThreads}, stream, task),
                     "launch of a convolution");
}

template <int kSize, class Task>
Status launch(const Task& task, CUstream_st* stream) {
  switch (task.layer.width) {
    case 2: return launch_width<2, kSize>(task, stream);
    case 3: return launch_width<3, kSize>(task, stream);
    case 4: return launch_width<4, kSize>(task, stream);
    default:
      return invalid_input("a convolution of width " + std::to_string(task.layer.width) +
                           "; kernels take 2 to 4");
  }
}

// Channels of bfloat16 that a thread takes where everything is aligned for it.
constexpr int kBf16Channels = 4;

bool is_aligned(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

bool is_aligned(const ConvLayer& layer, const Bf16StatePool& pool, const Bf16ConvTokens& tokens) {
  constexpr std::uintptr_t kBytes = kBf16Channels * sizeof(Bf16);
  return layer.dim % kBf16Channels == 0 && pool.block_elements % kBf16Channels == 0 &&
         is_aligned(pool.data.data(), kBytes) && is_aligned(tokens.x.data(), kBytes) &&
         is_aligned(tokens.y.data(), kBytes) && is_aligned(layer.weight.data(), 16);
}

std::int32_t tokens_of(std::ptrdiff_t elements, const ConvLayer& layer) {
  return layer.dim == 0 ? 0 : static_cast<std::int32_t>(elements / layer.dim);
}

template <class Rows>
ConvTask<PlainTokens<float>, Rows> task_of(const ConvLayer& layer, const Rows& rows,
                                           const StatePool& pool, const ConvTokens& tokens) {
  return {layer,
          rows,
          device_pool(pool),
          {tokens.x.data(), tokens.y.data(), layer.dim},
          tokens_of(std::ssize(tokens.y), layer)};
}

template <class Rows>
ConvTask<GatedTokens, Rows> task_of(const ConvLayer& layer, const Rows& rows, const StatePool& pool,
                                    const ShortConvTokens& tokens) {
  return {layer,
          rows,
          device_pool(pool),
          {tokens.BCx.data(), tokens.y.data(), layer.dim},
          tokens_of(std::ssize(tokens.y), layer)};
}

template <class Tokens>
PrefillTask<Tokens> with_front(const ConvTask<Tokens, PrefillRows>& task, const float* in_front,
                               std::int32_t num_in_front) {
  return {task, {in_front, nullptr, task.layer.dim}, num_in_front};
}

}  // namespace

Status conv_prefill_cuda(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                         const ConvTokens& tokens, CUstream_st* stream) {
  return launch<1>(with_front(task_of(layer, rows, pool, tokens), tokens.in_front.data(),
                              tokens_of(std::ssize(tokens.in_front), layer)),
                   stream);
}

Status conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                        const ConvTokens& tokens, CUstream_st* stream) {
  return launch<1>(task_of(layer, rows, pool, tokens), stream);
}

Status conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const Bf16StatePool& pool,
                        const Bf16ConvTokens& tokens, CUstream_st* stream) {
  const ConvTask<PlainTokens<Bf16>, DecodeRows> task{
      layer,
      rows,
      device_pool(pool),
      {reinterpret_cast<const Bf16*>(tokens.x.data()), reinterpret_cast<Bf16*>(tokens.y.data()),
       layer.dim},
      tokens_of(std::ssize(tokens.y), layer)};
  if (!is_aligned(layer, pool, tokens)) return launch<1>(task, stream);
  if (can_stage_conv(task)) return launch_conv_staged(task, stream);
  return launch<kBf16Channels>(task, stream);
}

Status short_conv_prefill_cuda(const ConvLayer& layer, const PrefillRows& rows,
                               const StatePool& pool, const ShortConvTokens& tokens,
                               CUstream_st* stream) {
  return launch<1>(with_front(task_of(layer, rows, pool, tokens), tokens.in_front.data(),
                              tokens_of(std::ssize(tokens.in_front), layer) / 3),
                   stream);
}

Status short_conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                              const ShortConvTokens& tokens, CUstream_st* stream) {
  return launch<1>(task_of(layer, rows, pool, tokens), stream);
}

}  // namespace hybridscope
