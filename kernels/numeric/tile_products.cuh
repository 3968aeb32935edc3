// Products of small matrices by one warp on tensor cores. A float32 is the sum of two TF32 numbers
// up to 2^-21 of itself, and three products of such parts, summed in float32, stand for one: the
// error is nearly that of float32. The sums have no promised order (form chunked promises none),
// and a product and a sum are one rounding here.
#pragma once

#include <cstdint>

#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kTile = 16;  // rows of a tile

// The parts of a float32: x = high + low.
struct TwoParts {
  std::uint32_t high;
  std::uint32_t low;

  __device__ explicit TwoParts(float x) {
    constexpr std::uint32_t kKept = 0xFFFFE000U;  // of a float32 by TF32
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(x));
    low = __float_as_uint(x - __uint_as_float(high)) & kKept;
  }
};

// sums += a b, a tile of 16 rows and 8 columns, over 8 terms.
__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4],
                                    const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A tile of 16 rows and 8 kColumns columns, spread over the threads of a warp.
template <int kColumns>
struct WarpTile {
  float sums[kColumns][4] = {};

  // Calls visit(row, column, element) for the thread's elements.
  template <class Visit>
  __device__ void for_each(Visit&& visit) {
    const int lane = lane_of_thread();
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        visit(lane / 4 + i / 2 * 8, 8 * c + lane % 4 * 2 + i % 2, sums[c][i]);
  }
};

// tiles[f] += A_f B over `terms`, a multiple of 8, for factors that share B: `a(factor, row,
// term)`, `b(term, column)`. Products with a low part have sums of their own, so that fewer wait
// for each other.
template <int kFactors, int kColumns, class A, class B>
__device__ void add_products(WarpTile<kColumns> (&tiles)[kFactors], int terms, A&& a, B&& b) {
  const int group = lane_of_thread() / 4;
  const int own = lane_of_thread() % 4;
  WarpTile<kColumns> of_low[kFactors];
#pragma unroll 4
  for (int first = 0; first < terms; first += 8) {
    std::uint32_t a_high[kFactors][4], a_low[kFactors][4];
#pragma unroll
    for (int f = 0; f < kFactors; ++f)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const TwoParts parts(a(f, group + i % 2 * 8, first + own + i / 2 * 4));
        a_high[f][i] = parts.high;
        a_low[f][i] = parts.low;
      }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      std::uint32_t b_high[2], b_low[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const TwoParts parts(b(first + own + i * 4, 8 * c + group));
        b_high[i] = parts.high;
        b_low[i] = parts.low;
      }
#pragma unroll
      for (int f = 0; f < kFactors; ++f) {
        multiply_add(of_low[f].sums[c], a_low[f], b_high);
        multiply_add(tiles[f].sums[c], a_high[f], b_high);
        multiply_add(of_low[f].sums[c], a_high[f], b_low);
      }
    }
  }
#pragma unroll
  for (int f = 0; f < kFactors; ++f)
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) tiles[f].sums[c][i] += of_low[f].sums[c][i];
}
// Adds the product of one factor, `a(row, term)`, to one tile.
template <int kColumns, class A, class B>
__device__ void add_product(WarpTile<kColumns>& tile, int terms, A&& a, B&& b) {
  WarpTile<kColumns> tiles[1] = {tile};
  add_products(
      tiles, terms, [&](int, int row, int term) { return a(row, term); }, b);
  tile = tiles[0];
}

}  // namespace hybridscope::numeric_cuda
