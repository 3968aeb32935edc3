// Numbers as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// Numbers as people read them.

// 12031 -> "12,031".
std::string grouped_number(std::int64_t value);
// "1 finding", "2 findings", "12,031 findings".
std::string counted(std::int64_t count, std::string_view noun);

// Byte sizes as users write them.

// "60GiB", "512MiB", "1.5GiB", "4096", "80GB", "60 GiB": a number and a unit of B, KiB, MiB, GiB,
// TiB (powers of 1024) or kB/KB, MB, GB, TB (powers of 1000), in upper or lower case. Exact; a
// fraction of a byte is rounded down. Error: anything else, or 2^63 bytes or more.
Result<std::int64_t> parse_byte_size(std::string_view text);

// The shortest text that parses to the same number: "60GiB", "4097".
std::string format_byte_size(std::int64_t bytes);

// Decimal fractions as integers: "0.25" in millionths is 250000. Exact, for times and rates.

inline constexpr std::int64_t kMillion = 1'000'000;

// Digits, perhaps with a point and further digits ("5", "0.25"): the value in millionths; digits
// behind the sixth are cut off. Empty: anything else, or more than 63 bits.
std::optional<std::int64_t> parse_millionths(std::string_view text);

// The shortest text that parse_millionths() reads as `value`. Requires: value >= 0.
std::string format_millionths(std::int64_t value);

}  // namespace hybridscope
