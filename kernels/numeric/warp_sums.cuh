// OrderedSum by a warp: lane l adds terms l, l + 32, ... from 0 on, then lanes are halved.
#pragma once

namespace hybridscope::numeric_cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned int kWholeWarp = ~0U;

__device__ inline int lane_of_thread() { return static_cast<int>(threadIdx.x) % kWarp; }

// Sums of several rows at once, where each of the kWarp / kLanes threads of a row adds kLanes lanes
// of its sum that lie side by side, and a warp has kLanes rows at a time, kThreadRows times. A
// thread's lanes are [kThreadRows, kLanes].
template <int kThreadRows, int kLanes>
struct RowSums {
  static constexpr int kThreads = kWarp / kLanes;  // of a row

  // The row, among the thread's, whose total the thread gets.
  __device__ static int own(int lane) { return lane % kThreads / (kThreads / kThreadRows); }
  // The first thread that has the total of row r of this thread's rows.
  __device__ static int thread_of(int lane, int r) {
    return lane / kThreads * kThreads + r * (kThreads / kThreadRows);
  }

  // Returns the total of row own(lane): rows are shared out among threads while lanes are halved,
  // so that there are fewer exchanges than one sum after the other would take. `lanes` is lost.
  __device__ static float total(float (&lanes)[kThreadRows * kLanes], int lane) {
    halve<kThreads / 2, kThreadRows>(lanes, lane);
    if constexpr (kLanes == 4) {
      // The last exchange has left lanes 0 and 2, or 1 and 3.
      const float half = lanes[0] + lanes[1];
      return half + __shfl_xor_sync(kWholeWarp, half, 1);
    } else {
      static_assert(kLanes == 1);
      return lanes[0];
    }
  }

 private:
  // Adds lanes of threads that are kDistance apart, of kLeft rows.
  template <int kDistance, int kLeft>
  __device__ static void halve(float (&lanes)[kThreadRows * kLanes], int lane) {
    if constexpr (kDistance > 0) {
      const bool upper = (lane & kDistance) != 0;
      if constexpr (kLeft > 1) {
#pragma unroll
        for (int i = 0; i < kLeft / 2 * kLanes; ++i)
          lanes[i] = exchanged<kDistance>(lanes[i], lanes[i + kLeft / 2 * kLanes], upper);
      } else if constexpr (kLanes == 4 && kDistance == 1) {
        const float even = exchanged<1>(lanes[0], lanes[1], upper);
        lanes[1] = exchanged<1>(lanes[2], lanes[3], upper);
        lanes[0] = even;
      } else {
#pragma unroll
        for (int i = 0; i < kLanes; ++i)
          lanes[i] += __shfl_xor_sync(kWholeWarp, lanes[i], kDistance);
      }
      halve<kDistance / 2, (kLeft > 1 ? kLeft / 2 : 1)>(lanes, lane);
    }
  }
  // The lower thread goes on with sum `low` and the upper one with `high`.
  template <int kDistance>
  __device__ static float exchanged(float low, float high, bool upper) {
    const float kept = upper ? high : low;
    const float given = upper ? low : high;
    return kept + __shfl_xor_sync(kWholeWarp, given, kDistance);
  }
};

// Adds the terms of all lanes; every lane gets the total.
__device__ inline float sum_of_lanes(float term) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    term += __shfl_xor_sync(kWholeWarp, term, distance);
  return term;
}

// OrderedSum by one thread, whose lanes are registers.

// Halves the lanes; `lanes` is lost.
__device__ inline float total_of_lanes(float (&lanes)[kWarp]) {
#pragma unroll
  for (int half = kWarp / 2; half > 0; half /= 2)
#pragma unroll
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

}  // namespace hybridscope::numeric_cuda
