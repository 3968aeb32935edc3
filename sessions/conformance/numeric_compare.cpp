#include "sessions/conformance/numeric_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hybridscope {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::string words_of(float value) {
  return fmt::format("{} (bits {:08x})", value, std::bit_cast<std::uint32_t>(value));
}

VectorDifference differs_at(const ComparedFloats& part, std::size_t index) {
  return {fmt::format("{}/{}", part.place, index), words_of(part.expected[index]),
          words_of(part.got[index])};
}

double largest_value(std::span<const ComparedFloats> parts) {
  double largest = 1;
  for (const ComparedFloats& part : parts)
    for (const float value : part.expected)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

}  // namespace

std::optional<VectorDifference> differing_bits(std::span<const ComparedFloats> parts) {
  for (const ComparedFloats& part : parts)
    for (std::size_t i = 0; i < part.expected.size(); ++i)
      if (!same_bits(part.expected[i], part.got[i])) return differs_at(part, i);
  return std::nullopt;
}

std::optional<VectorDifference> differing_values(std::span<const ComparedFloats> parts,
                                                 const FloatTolerance& tolerance) {
  const double largest = largest_value(parts);
  double errors = 0;
  double squares = 0;
  std::size_t count = 0;
  for (const ComparedFloats& part : parts) {
    count += part.expected.size();
    for (std::size_t i = 0; i < part.expected.size(); ++i) {
      const double expected = part.expected[i];
      if (std::isfinite(expected)) squares += expected * expected;
      if (same_bits(part.expected[i], part.got[i])) continue;
      const double error = std::abs(part.got[i] - expected);
      if (!(error <= tolerance.absolute * largest + tolerance.relative * std::abs(expected)))
        return differs_at(part, i);
      errors += error * error;
    }
  }
  // Both root mean squares divide by the same number of values.
  const auto n = static_cast<double>(std::max<std::size_t>(count, 1));
  const double ratio = std::sqrt(errors / n) / (std::sqrt(squares / n) + 1e-8);
  if (tolerance.error_ratio == 0 || ratio <= tolerance.error_ratio) return std::nullopt;
  return VectorDifference{parts.front().place,
                          fmt::format("an error ratio of at most {}", tolerance.error_ratio),
                          fmt::format("{:.3g}", ratio)};
}

std::optional<VectorDifference> differing_elements(std::span<const ComparedFloats> parts,
                                                   double relative) {
  constexpr double smallest_normal = std::numeric_limits<float>::min();
  for (const ComparedFloats& part : parts)
    for (std::size_t i = 0; i < part.expected.size(); ++i) {
      if (same_bits(part.expected[i], part.got[i])) continue;
      const double expected = part.expected[i];
      if (!(std::abs(part.got[i] - expected) <= relative * std::abs(expected) + smallest_normal))
        return differs_at(part, i);
    }
  return std::nullopt;
}

}  // namespace hybridscope
