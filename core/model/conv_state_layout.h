// How a block holds a conv state.
#pragma once

#include <cstdint>

namespace hybridscope {

// Order of a conv state's dimensions in a block: SD (state_len, dim), DS (dim, state_len).
enum class ConvStateLayout : std::uint8_t { SD, DS };

}  // namespace hybridscope
