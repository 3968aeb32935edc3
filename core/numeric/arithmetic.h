// float32 arithmetic whose bits are the same on every machine: exponentials and logarithms without
// a math library, and one order of every sum (numerics: arithmetic). A multiplication and an
// addition are two roundings: this is compiled without contraction.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/math.h"

namespace hybridscope {

namespace numeric_detail {

HS_HOST_DEVICE inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// exp(x) for |x| <= 104, before the rounding to float32.
HS_HOST_DEVICE inline double bounded_exp(double x) {
  const double n = rint(x * 1.4426950408889634);
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  // The coefficients are 1 / k!, from k = 13 down.
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 1.0 / 2.0;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  return sum * power_of_two(static_cast<int>(n));
}

}  // namespace numeric_detail

// hs_exp before its rounding to float32. NaN stays NaN.
HS_HOST_DEVICE inline double exp_unrounded(float x) {
  if (x < -104.0F) return 0.0;
  if (x > 88.8F) return std::numeric_limits<double>::infinity();
  if (x != x) return static_cast<double>(x);
  return numeric_detail::bounded_exp(static_cast<double>(x));
}
HS_HOST_DEVICE inline float exp_f32(float x) { return static_cast<float>(exp_unrounded(x)); }

// hs_log: y > 0, finite and not denormal.
HS_HOST_DEVICE inline double log_f64(double y) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(y);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m >= 0x1.6a09e667f3bcdp+0) {  // sqrt(2): m lies in [sqrt(1/2), sqrt(2))
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  // The coefficients are 1 / (2 k + 1), from k = 10 down.
  double sum = 1.0 / 21.0;
  sum = sum * z + 1.0 / 19.0;
  sum = sum * z + 1.0 / 17.0;
  sum = sum * z + 1.0 / 15.0;
  sum = sum * z + 1.0 / 13.0;
  sum = sum * z + 1.0 / 11.0;
  sum = sum * z + 1.0 / 9.0;
  sum = sum * z + 1.0 / 7.0;
  sum = sum * z + 1.0 / 5.0;
  sum = sum * z + 1.0 / 3.0;
  sum = sum * z + 1.0;
  return static_cast<double>(exponent) * 0x1.62e42fefa39efp-1 + 2.0 * s * sum;
}

HS_HOST_DEVICE inline float softplus_f32(float x) {
  if (x > 20.0F) return x;
  if (x != x) return x;
  return static_cast<float>(log_f64(1.0 + exp_unrounded(x)));
}
HS_HOST_DEVICE inline float sigma_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }
HS_HOST_DEVICE inline float silu_f32(float x) { return x / (1.0F + exp_f32(-x)); }
HS_HOST_DEVICE inline float rsqrt_f32(float x) { return 1.0F / sqrtf(x); }

// R32, the one order of a sum over terms 0, 1, ...: lane i % 32 adds term i, then lanes are halved.
class OrderedSum {
 public:
  static constexpr int kLanes = 32;

  // Terms must be added in ascending order of `index`.
  HS_HOST_DEVICE void add(std::int64_t index, float term) { lanes_[index % kLanes] += term; }
  HS_HOST_DEVICE float total() const {
    float lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = lanes_[lane];
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
  }

  // Adds the products of two vectors [n] to lanes that hold nothing yet: a dot product.
  HS_HOST_DEVICE static float dot(const float* a, const float* b, std::int64_t n) {
    OrderedSum sum;
    const std::int64_t whole = n - n % kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) sum.lanes_[lane] += a[i + lane] * b[i + lane];
    for (std::int64_t i = whole; i < n; ++i) sum.lanes_[i - whole] += a[i] * b[i];
    return sum.total();
  }

 private:
  float lanes_[kLanes] = {};
};

}  // namespace hybridscope
