// Decimal fractions as integers: "0.25" in millionths is 250000. Exact, for times and rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hybridscope {

inline constexpr std::int64_t kMillion = 1'000'000;

// Digits, perhaps with a point and further digits ("5", "0.25"): the value in millionths; digits
// behind the sixth are cut off. Empty: anything else, or more than 63 bits.
std::optional<std::int64_t> parse_millionths(std::string_view text);

// The shortest text that parse_millionths() reads as `value`. Requires: value >= 0.
std::string format_millionths(std::int64_t value);

}  // namespace hybridscope
