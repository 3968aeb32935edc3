// What lies between the layer kernels of a forward pass: columns of tables, tokens of parts,
// elementwise sums and gates; bit for bit as core/numeric's mixers. All arrays are in device
// memory; launches neither wait nor allocate. Errors: device when a launch fails.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/result.h"

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

}  // namespace hybridscope
