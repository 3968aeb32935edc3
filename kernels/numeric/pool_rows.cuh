// Rows in a pool of states on the device: how a state is stored, and a row's way through its
// blocks.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "core/numeric/state_rows.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope::numeric_cuda {

// How a state is stored: float32, or bfloat16 that is float32 while a row runs.

using Bf16 = __nv_bfloat16;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Bf16 value) { return __bfloat162float(value); }

template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float value) {
  return __float2bfloat16_rn(value);
}

// kSize elements that are read and written at once; those of bfloat16 stay in pairs, as they are
// converted.
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T values[kSize];
};
template <int kSize>
requires(kSize % 2 == 0) struct alignas(sizeof(Bf16) * kSize) Pack<Bf16, kSize> {
  std::uint32_t pairs[kSize / 2];  // the first element in the lower half
};

template <class T, int kSize>
__device__ void unpack(const Pack<T, kSize>& pack, float (&values)[kSize]) {
  if constexpr (std::is_same_v<T, Bf16> && kSize % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kSize; i += 2) {
      values[i] = __uint_as_float(pack.pairs[i / 2] << 16);
      values[i + 1] = __uint_as_float(pack.pairs[i / 2] & 0xFFFF0000U);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[i] = to_float(pack.values[i]);
  }
}

template <class T, int kSize>
__device__ Pack<T, kSize> packed(const float (&values)[kSize]) {
  Pack<T, kSize> pack;
  if constexpr (std::is_same_v<T, Bf16> && kSize % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kSize; i += 2)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
          : "=r"(pack.pairs[i / 2])
          : "f"(values[i + 1]), "f"(values[i]));
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) pack.values[i] = from_float<T>(values[i]);
  }
  return pack;
}

// Pools as kernels see them.
template <class T>
struct DevicePool {
  T* data = nullptr;
  std::int64_t block_elements = 0;  // from a block to the next

  __device__ T* block(std::int32_t id) const { return data + id * block_elements; }
};

inline DevicePool<float> device_pool(const StatePool& pool) {
  return {pool.data.data(), pool.stride == 0 ? pool.block_elements : pool.stride};
}
inline DevicePool<Bf16> device_pool(const Bf16StatePool& pool) {
  return {reinterpret_cast<Bf16*>(pool.data.data()), pool.block_elements};
}

// One row's way through the blocks of a pool, on the device: what run_decode_rows and
// run_prefill_rows do on the host.

// The tokens behind the last row, which belong to none, begin here.
__device__ inline std::int32_t end_of_rows(const DecodeRows& rows) {
  const std::int32_t num_rows = rows.num_rows();
  return rows.query_start_loc.empty() ? num_rows
                                      : rows.query_start_loc[static_cast<std::size_t>(num_rows)];
}
__device__ inline std::int32_t end_of_rows(const PrefillRows& rows) {
  return rows.query_start_loc[static_cast<std::size_t>(rows.num_rows())];
}

// after(t) must be asked for t = 0, 1, ...: where the state after t + 1 tokens goes; last(): where
// the row's last state goes besides. 0: nowhere.
template <class Rows>
class RowWalk;

template <>
class RowWalk<DecodeRows> {
 public:
  __device__ RowWalk(const DecodeRows& rows, std::int32_t row, bool)
      : rows_(rows), row_(row), tokens_(rows.tokens(row)) {
    const std::int32_t source = rows.source(row, rows.offset(row));  // asked for beside the tokens
    if (tokens_.size() > 0) source_ = source;
  }
  __device__ BatchTokens tokens() const { return tokens_; }
  // False: the row is padding; nothing of it is read or written but zero outputs.
  __device__ bool runs() const { return is_state_block(source_); }
  __device__ std::int32_t source() const { return source_; }
  __device__ std::int32_t after(std::int32_t t) { return rows_.destination(row_, t); }
  __device__ std::int32_t last() const { return 0; }

 private:
  const DecodeRows& rows_;
  std::int32_t row_;
  BatchTokens tokens_;
  std::int32_t source_ = 0;
};

template <>
class RowWalk<PrefillRows> {
 public:
  __device__ RowWalk(const PrefillRows& rows, std::int32_t row, bool reads_states)
      : rows_(rows),
        row_(row),
        tokens_(rows.tokens(row)),
        columns_(boundary_columns(rows, row)),
        source_(reads_states && rows.has_initial_state(row) ? rows.source(row) : 0) {
    columns_.first = max(columns_.first, 0);
    columns_.last = min(columns_.last, rows.state_indices.cols);
    if (!rows.is_mode_all() && !rows.checkpoint_offsets.empty())
      checkpoint_ = rows.checkpoint_offsets[static_cast<std::size_t>(row)];
  }
  __device__ BatchTokens tokens() const { return tokens_; }
  // A row without tokens stores its state as it is, in mode all nothing.
  __device__ bool runs() const { return tokens_.size() > 0 || !rows_.is_mode_all(); }
  // 0: the row begins with zeros.
  __device__ std::int32_t source() const { return source_; }
  __device__ std::int32_t after(std::int32_t t) {
    if (checkpoint_ == t + 1) return rows_.checkpoint_blocks[static_cast<std::size_t>(row_)];
    if (columns_.first >= columns_.last || columns_.num_tokens != t + 1) return 0;
    columns_.num_tokens += rows_.mamba_block_size;
    return rows_.state_indices.at(row_, columns_.first++);
  }
  __device__ std::int32_t last() const { return rows_.destination(row_); }

 private:
  const PrefillRows& rows_;
  std::int32_t row_;
  BatchTokens tokens_;
  BoundaryColumns columns_;
  std::int32_t source_;
  std::int32_t checkpoint_ = 0;  // tokens; 0: none
};

}  // namespace hybridscope::numeric_cuda
