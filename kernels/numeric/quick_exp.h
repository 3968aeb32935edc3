// exp_f32, softplus_f32 and the gates made of them, with the same bits at a third of the cost:
// shorter polynomials decide unless a result lies so near a rounding boundary that the function
// itself has to. Tests compare all floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/math.h"
#include "core/numeric/arithmetic.h"

namespace hybridscope {

namespace quick_exp_detail {

constexpr std::uint32_t kBias = (1023U - 127U) << 20;  // of a double's exponent above a float's

// What a double has below a float's last bit, and half of that.
constexpr std::uint32_t kBelow = (1U << 29) - 1;
constexpr std::uint32_t kHalf = 1U << 28;

// Does a positive double lie within `unsure` last places of the middle between two floats?
HS_HOST_DEVICE inline bool is_near_middle(std::uint64_t bits, std::uint32_t unsure) {
  return (static_cast<std::uint32_t>(bits) & kBelow) - (kHalf - unsure) <= 2 * unsure;
}
// Rounds a positive double that does not, whose float is normal.
HS_HOST_DEVICE inline float rounded(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  const auto high = static_cast<std::uint32_t>(bits >> 32) - kBias;
  return std::bit_cast<float>((high << 3 | low >> 29) + ((low & kBelow) > kHalf ? 1U : 0U));
}
// Zero and denormals count as numbers near 2^-127.
HS_HOST_DEVICE inline double widened(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t high = ((bits & 0x7FFFFFFFU) >> 3) + kBias + (bits & 0x80000000U);
  return std::bit_cast<double>(static_cast<std::uint64_t>(high) << 32 |
                               static_cast<std::uint64_t>(bits << 29));
}

// exp(x) within 2^-39.7 of itself, for |x| < 88.
HS_HOST_DEVICE inline std::uint64_t bits_of_exp(float x) {
  const double wide = widened(x);
  const double shifted = fma(wide, 0x1.71547652b82fep+0, 0x1.8p+52);  // n in its lowest bits
  const double r = fma(-(shifted - 0x1.8p+52), 0x1.62e42fefa39efp-1, wide);
  double sum = 0x1.a15a7071d22d7p-16;  // interpolates exp in 9 points of |r| <= 0.3467
  sum = fma(sum, r, 0x1.a1aaa8291a112p-13);
  sum = fma(sum, r, 0x1.6c164ddc96adbp-10);
  sum = fma(sum, r, 0x1.1110809069928p-7);
  sum = fma(sum, r, 0x1.5555557432542p-5);
  sum = fma(sum, r, 0x1.555555a285a4ap-3);
  sum = fma(sum, r, 0x1.fffffffff7195p-2);
  sum = fma(sum, r, 0x1.ffffffffd379dp-1);
  sum = fma(sum, r, 1.0);
  return std::bit_cast<std::uint64_t>(sum) + (std::bit_cast<std::uint64_t>(shifted) << 52);
}

// a / b nearly rounded, for b in [1, 4).
HS_HOST_DEVICE inline double quotient(double a, double b) {
#if defined(__CUDA_ARCH__)
  double inverse;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(b));
  inverse = fma(inverse, fma(-b, inverse, 1.0), inverse);
  const double first = a * inverse;
  return fma(inverse, fma(-b, first, a), first);
#else
  return a / b;
#endif
}

// log(y) within 2^-43 of itself, for y above 1.
HS_HOST_DEVICE inline double log_above_1(double y) {
  const auto bits = std::bit_cast<std::uint64_t>(y);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m >= 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  const double s = quotient(m - 1.0, m + 1.0);
  const double z = s * s;
  double sum = 1.0 / 15.0;
  sum = fma(sum, z, 1.0 / 13.0);
  sum = fma(sum, z, 1.0 / 11.0);
  sum = fma(sum, z, 1.0 / 9.0);
  sum = fma(sum, z, 1.0 / 7.0);
  sum = fma(sum, z, 1.0 / 5.0);
  sum = fma(sum, z, 1.0 / 3.0);
  sum = fma(sum, z, 1.0);
  return fma(2.0 * s, sum, static_cast<double>(exponent) * 0x1.62e42fefa39efp-1);
}

// Rarely called, so that kernels give them no registers.
#if defined(__CUDACC__)
#define HS_RARELY_CALLED __noinline__
#else
#define HS_RARELY_CALLED
#endif
HS_HOST_DEVICE HS_RARELY_CALLED inline float slow_exp(float x) { return exp_f32(x); }
HS_HOST_DEVICE HS_RARELY_CALLED inline float slow_softplus(float x) { return softplus_f32(x); }
#undef HS_RARELY_CALLED

}  // namespace quick_exp_detail

HS_HOST_DEVICE inline float quick_exp_f32(float x) {
  using namespace quick_exp_detail;
  // exp_unrounded is within 2^-50: the two differ by less than 2^14 last places.
  constexpr std::uint32_t kUnsure = 1U << 14;
  if (!(x > -87.0F && x < 88.0F)) return slow_exp(x);
  const std::uint64_t bits = bits_of_exp(x);
  return is_near_middle(bits, kUnsure) ? slow_exp(x) : rounded(bits);
}

HS_HOST_DEVICE inline float quick_softplus_f32(float x) {
  using namespace quick_exp_detail;
  // 1 + exp(-12) has 2^-53 / exp(-12) of what matters rounded off, which is the largest difference.
  constexpr std::uint32_t kUnsure = 1U << 18;
  if (!(x > -12.0F && x <= 20.0F)) return slow_softplus(x);
  const double sum = 1.0 + std::bit_cast<double>(bits_of_exp(x));
  const auto bits = std::bit_cast<std::uint64_t>(log_above_1(sum));
  return is_near_middle(bits, kUnsure) ? slow_softplus(x) : rounded(bits);
}

HS_HOST_DEVICE inline float quick_sigma_f32(float x) { return 1.0F / (1.0F + quick_exp_f32(-x)); }
HS_HOST_DEVICE inline float quick_silu_f32(float x) { return x / (1.0F + quick_exp_f32(-x)); }

}  // namespace hybridscope
