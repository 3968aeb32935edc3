#include "sessions/traffic/traffic_draws.h"

#include <bit>

#include "core/base/fingerprint.h"

namespace hybridscope {

TrafficDraws::TrafficDraws(std::uint64_t domain, std::uint64_t seed) : seed_(mix(domain, seed)) {}

std::uint64_t TrafficDraws::bits(const TrafficDrawKey& key) const {
  std::uint64_t x = mix(seed_, key.purpose);
  x = mix(x, static_cast<std::uint64_t>(key.conversation));
  return mix(x, static_cast<std::uint64_t>(key.turn));
}

// The high half of a 32 by 32 bit product.
std::int32_t TrafficDraws::uniform(const TokenRange& range, const TrafficDrawKey& key) const {
  const auto count = static_cast<std::uint64_t>(range.max - range.min) + 1;
  return range.min + static_cast<std::int32_t>(((bits(key) >> 32) * count) >> 32);
}

// -log2 of a uniform draw is its number of leading zeros plus one minus its mantissa, interpolated
// linearly between powers of two. Its mean is 1.5, or 98304 in units of 1/65536.
std::int64_t TrafficDraws::waiting_time(std::int64_t mean_us, const TrafficDrawKey& key) const {
  const std::uint64_t x = bits(key) | 1U;
  const int zeros = std::countl_zero(x);
  const auto mantissa = static_cast<std::int64_t>((x << zeros << 1) >> 48);  // 16 bits
  const std::int64_t log2 = std::int64_t{zeros} * 65536 + 65536 - mantissa;
  return mean_us / 98304 * log2 + mean_us % 98304 * log2 / 98304;
}

}  // namespace hybridscope
