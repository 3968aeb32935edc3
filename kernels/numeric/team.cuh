// The warps of a block while they share small jobs.
#pragma once

#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kMostWarps = 4;  // of a block

// Vectors of a warp that are loaded before they are needed.
template <int kSize, int kAhead>
struct VectorsAhead {
  float values[kAhead][kSize];
};

// The first warp has a job of its own. Two vectors of each of at most kTokens tokens go to the
// others in turn, if there are any.
template <int kTokens>
class Team {
 public:
  static constexpr int kAhead = (2 * kTokens + kMostWarps - 2) / (kMostWarps - 1);
  template <int kSize>
  using Vectors = VectorsAhead<kSize, kAhead>;

  __device__ int lane() const { return lane_of_thread(); }
  __device__ int warp() const { return static_cast<int>(threadIdx.x) / kWarp; }
  __device__ int num_warps() const { return static_cast<int>(blockDim.x) / kWarp; }
  __device__ bool is_first() const { return warp() == 0; }
  __device__ bool is_last() const { return warp() == num_warps() - 1; }

  // load(values, i) loads vector i of num_vectors.
  template <int kSize, class Load>
  __device__ void load(Vectors<kSize>& vectors, int num_vectors, const Load& load) const {
#pragma unroll
    for (int n = 0; n < kAhead; ++n)
      if (has(n, num_vectors)) load(vectors.values[n], vector(n));
  }
  // use(values, i) does the job of vector i. A small team loads some of them now.
  template <int kSize, class Load, class Use>
  __device__ void use(Vectors<kSize>& vectors, int num_vectors, const Load& load,
                      const Use& use) const {
#pragma unroll
    for (int n = 0; n < kAhead; ++n)
      if (has(n, num_vectors)) use(vectors.values[n], vector(n));
#pragma unroll 1
    for (int n = kAhead; has(n, num_vectors); ++n) {
      load(vectors.values[0], vector(n));
      use(vectors.values[0], vector(n));
    }
  }

 private:
  // The warp's n-th vector.
  __device__ int vector(int n) const {
    return num_warps() == 1 ? n : warp() - 1 + n * (num_warps() - 1);
  }
  __device__ bool has(int n, int num_vectors) const {
    return (num_warps() == 1 || !is_first()) && vector(n) < num_vectors;
  }
};

}  // namespace hybridscope::numeric_cuda
