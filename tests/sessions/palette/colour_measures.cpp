#include "tests/sessions/palette/colour_measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace hybridscope::test {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtanopia = {{{0.152286, 1.052583, -0.204868},
                                 {0.114503, 0.786281, 0.099216},
                                 {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {{{0.367322, 0.860646, -0.227968},
                                   {0.280085, 0.672501, 0.047413},
                                   {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritanopia = {{{1.255528, -0.076749, -0.178779},
                                 {-0.078411, 0.930809, 0.147602},
                                 {0.004733, 0.691367, 0.303900}}};
// IEC 61966-2-1; the middle row is luminance.
constexpr Matrix kToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                            {0.2126729, 0.7151522, 0.0721750},
                            {0.0193339, 0.1191920, 0.9503041}}};
constexpr Vector kWhiteD65 = {0.95047, 1.0, 1.08883};

double to_linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

std::uint8_t from_linear(double linear) {
  const double clamped = std::clamp(linear, 0.0, 1.0);
  const double value =
      clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * std::pow(clamped, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(value * 255));
}

Vector linear_of(const Rgba& colour) {
  return {to_linear(colour.r), to_linear(colour.g), to_linear(colour.b)};
}

Vector product(const Matrix& matrix, const Vector& vector) {
  Vector result{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      result[row] += matrix[row][column] * vector[column];
  return result;
}

const Matrix& matrix_of(ColourVision vision) {
  switch (vision) {
    case ColourVision::protanopia: return kProtanopia;
    case ColourVision::deuteranopia: return kDeuteranopia;
    case ColourVision::tritanopia: return kTritanopia;
    case ColourVision::normal: break;
  }
  return kNormal;
}

// The curve of L*a*b*: a cube root with a straight line near black.
double lab_curve(double value) {
  constexpr double kEpsilon = 216.0 / 24389;
  constexpr double kKappa = 24389.0 / 27;
  return value > kEpsilon ? std::cbrt(value) : (kKappa * value + 16) / 116;
}

}  // namespace

double relative_luminance(const Rgba& colour) {
  const Vector linear = linear_of(colour);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

double contrast_ratio(const Rgba& one, const Rgba& other) {
  const double a = relative_luminance(one);
  const double b = relative_luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

Lab to_lab(const Rgba& colour) {
  Vector xyz = product(kToXyz, linear_of(colour));
  for (std::size_t i = 0; i < 3; ++i) xyz[i] = lab_curve(xyz[i] / kWhiteD65[i]);
  return {.l = 116 * xyz[1] - 16, .a = 500 * (xyz[0] - xyz[1]), .b = 200 * (xyz[1] - xyz[2])};
}

double delta_e(const Rgba& one, const Rgba& other) {
  const Lab x = to_lab(one);
  const Lab y = to_lab(other);
  return std::hypot(x.l - y.l, x.a - y.a, x.b - y.b);
}

Rgba simulate(const Rgba& colour, ColourVision vision) {
  const Vector seen = product(matrix_of(vision), linear_of(colour));
  return {from_linear(seen[0]), from_linear(seen[1]), from_linear(seen[2]), colour.a};
}

}  // namespace hybridscope::test
