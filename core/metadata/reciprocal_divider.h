// Division of non-negative 31-bit numbers by a divisor that is set once: a multiplication and a
// shift. The block table gather divides once a row and step.
#pragma once

#include <bit>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/host_device.h"

namespace hybridscope {

class ReciprocalDivider {
 public:
  // Requires: divisor > 0.
  constexpr explicit ReciprocalDivider(std::int32_t divisor) : divisor_(divisor) {
    HS_EXPECT(divisor > 0);
    // With 2^(l-1) < divisor <= 2^l, m = floor(2^(31+l) / divisor) + 1 < 2^32 exceeds the true
    // reciprocal by less than 2^l / 2^(31+l), too little to reach the next integer for n < 2^31.
    const auto l =
        static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(divisor) - 1U));
    shift_ = 31U + l;
    multiplier_ = static_cast<std::uint32_t>(
        (std::uint64_t{1} << shift_) / static_cast<std::uint64_t>(divisor) + 1);
  }

  // n / divisor rounded down. Requires: n >= 0.
  HS_HOST_DEVICE constexpr std::int32_t divide(std::int32_t n) const {
    return static_cast<std::int32_t>(
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(n)) * multiplier_) >> shift_);
  }

  constexpr std::int32_t divisor() const { return divisor_; }

 private:
  std::int32_t divisor_;
  std::uint32_t shift_ = 0;
  std::uint32_t multiplier_ = 0;
};

}  // namespace hybridscope
