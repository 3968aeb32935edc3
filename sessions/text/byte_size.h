// Byte sizes as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// "60GiB", "512MiB", "1.5GiB", "4096", "80GB", "60 GiB": a number and a unit of B, KiB, MiB, GiB,
// TiB (powers of 1024) or kB/KB, MB, GB, TB (powers of 1000), in upper or lower case. Exact; a
// fraction of a byte is rounded down. Error: anything else, or 2^63 bytes or more.
Result<std::int64_t> parse_byte_size(std::string_view text);

// The shortest text that parses to the same number: "60GiB", "4097".
std::string format_byte_size(std::int64_t bytes);

}  // namespace hybridscope
