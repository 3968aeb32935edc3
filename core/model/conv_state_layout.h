#pragma once
// Order of a conv state's dimensions in a block: SD (state_len, dim), DS (dim, state_len).
#include <cstdint>

namespace hybridscope {
enum class ConvStateLayout : std::uint8_t { SD, DS };
}  // namespace hybridscope
