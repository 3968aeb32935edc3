// Integer helpers, named as in the reference; they run on the host and on the device.
#pragma once

// Marks functions that are compiled for the host and, by nvcc, for the device as well.

#if defined(__CUDACC__)
#define HS_HOST_DEVICE __host__ __device__
#else
#define HS_HOST_DEVICE
#endif

namespace hybridscope {

// Ceiling division of non-negative a by positive b.
template <class T>
HS_HOST_DEVICE constexpr T cdiv(T a, T b) {
  return (a + b - 1) / b;
}

// Division rounded towards minus infinity, as Python's //; b is positive.
template <class T>
HS_HOST_DEVICE constexpr T floor_div(T a, T b) {
  const T quotient = a / b;
  return (a % b < 0) ? quotient - 1 : quotient;
}

// Largest multiple of positive b that is not above non-negative a.
template <class T>
HS_HOST_DEVICE constexpr T round_down(T a, T b) {
  return a / b * b;
}

// Smallest multiple of positive b that is not below non-negative a.
template <class T>
HS_HOST_DEVICE constexpr T round_up(T a, T b) {
  return cdiv(a, b) * b;
}

}  // namespace hybridscope
