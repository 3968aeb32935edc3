// What a language model's step launches on a CUDA device besides the layer kernels. All arrays are
// in device memory; launches neither wait nor allocate. Errors: device when a launch fails.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/state/state_ops.h"

// What lies between the layer kernels of a forward pass: columns of tables, tokens of parts,
// elementwise sums and gates; bit for bit as core/numeric's mixers.

struct CUstream_st;

namespace hybridscope {

// Neighbouring columns of a table [rows, stride] from `first` on, cut into up to four arrays
// [rows, width] of their own.
struct ColumnSplit {
  std::span<const float> table;
  std::int64_t stride = 0;
  std::int64_t first = 0;
  std::int64_t num_rows = 0;                // of the outputs
  std::span<const std::int32_t> rows = {};  // [num_rows] of the table; empty: all, in order
  struct Output {
    std::int64_t width = 0;
    std::span<float> to = {};
  };
  std::array<Output, 4> outputs = {};
};
Status split_columns_cuda(const ColumnSplit& split, CUstream_st* stream);

// to[t] = from[t] < 0 ? 0 : values[from[t]], of rows [width].
Status place_rows_cuda(std::span<const float> values, std::int64_t width,
                       std::span<const std::int32_t> from, std::span<float> to,
                       CUstream_st* stream);

// to[i] += change[i % size of change]
Status add_cuda(std::span<float> to, std::span<const float> change, CUstream_st* stream);

// gate[i] = silu(gate[i]) up[i]
Status silu_product_cuda(std::span<float> gate, std::span<const float> up, CUstream_st* stream);

// o[r][i] *= sigma(table[r][first + i]); `o`: [rows, width].
struct GateColumns {
  std::span<const float> table;
  std::int64_t stride = 0;
  std::int64_t first = 0;
  std::int64_t width = 0;
};
Status sigma_gate_cuda(const GateColumns& gate, std::span<float> o, CUstream_st* stream);

// What a step does to the blocks besides its forward pass.

// The pools of one layer; a pool that it does not have has no elements.
struct LayerPools {
  float* conv = nullptr;
  float* temporal = nullptr;
  float* keys = nullptr;
  float* values = nullptr;
  std::int64_t conv_elements = 0;  // of a block
  std::int64_t temporal_elements = 0;
  std::int64_t kv_elements = 0;
  std::int64_t conv_stride = 0;  // elements from a block to the next
  std::int64_t temporal_stride = 0;
  std::int32_t conv_dim = 0;
  std::int32_t group = -1;
  std::int32_t mamba_group = -1;  // into the recurrent groups; -1: attention
};

// Every element of the blocks becomes `value`. Requires: blocks that exist, none of them the null
// block.
Status fill_blocks_cuda(std::span<const LayerPools> layers, std::span<const std::int32_t> blocks,
                        float value, CUstream_st* stream);

// Copies of states as NumericMemory::copy makes them. Requires: the copies do not meet: a block
// that one writes is neither read nor written by another.
struct StateCopyLaunch {
  std::span<const StateCopyOp> copies;
  // A window that moves inside its block loses positions before they are read (known bug 4).
  bool shifts_last_position_first = false;
  bool only_such_shifts = false;  // nothing but these
};
Status copy_states_cuda(std::span<const LayerPools> layers, const StateCopyLaunch& launch,
                        CUstream_st* stream);

// Keys and values of whole blocks. Requires: blocks that exist; the copies do not meet.
Status copy_key_blocks_cuda(std::span<const LayerPools> layers, std::span<const BlockCopy> copies,
                            CUstream_st* stream);

// Floats of pools, and where they lie in another array.
struct PlacedFloats {
  float* place = nullptr;  // null: poison
  std::int64_t offset = 0;
  std::int64_t count = 0;
};
// out[offset ..] = place[0 ..]
Status gather_floats_cuda(std::span<const PlacedFloats> floats, float* out, CUstream_st* stream);
// place[0 ..] = in[offset ..]. Requires: places that do not overlap.
Status spread_floats_cuda(std::span<const PlacedFloats> floats, const float* in,
                          CUstream_st* stream);

}  // namespace hybridscope
