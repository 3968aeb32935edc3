// A colour.
#pragma once

#include <cstdint>

namespace hybridscope {

// sRGB, 8 bits each.
struct Rgba {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  std::uint8_t a = 255;  // 0: invisible
  friend bool operator==(const Rgba&, const Rgba&) = default;
};

// 0xE69F00; opaque.
constexpr Rgba rgb(std::uint32_t hex) {
  return {static_cast<std::uint8_t>(hex >> 16 & 0xFF), static_cast<std::uint8_t>(hex >> 8 & 0xFF),
          static_cast<std::uint8_t>(hex & 0xFF), 255};
}

}  // namespace hybridscope
