#include "sessions/text/byte_size.h"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <limits>
#include <optional>

namespace hybridscope {
namespace {

struct Unit {
  std::string_view name;  // lower case
  std::int64_t bytes;
};

constexpr std::array<Unit, 9> kUnits = {{{"", 1},
                                         {"b", 1},
                                         {"kib", std::int64_t{1} << 10},
                                         {"mib", std::int64_t{1} << 20},
                                         {"gib", std::int64_t{1} << 30},
                                         {"tib", std::int64_t{1} << 40},
                                         {"kb", 1'000},
                                         {"mb", 1'000'000},
                                         {"gb", 1'000'000'000}}};
constexpr Unit kTerabyte = {"tb", 1'000'000'000'000};

std::optional<std::int64_t> unit_bytes(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Unit& unit : kUnits)
    if (unit.name == lower) return unit.bytes;
  if (kTerabyte.name == lower) return kTerabyte.bytes;
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes the digits at the front of `text` and returns them.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

Error bad_size(std::string_view text, std::string_view expected) {
  return invalid_input(fmt::format("\"{}\" is not a byte size (expected {})", text, expected));
}

constexpr std::string_view kExpected = "a number with a unit such as 60GiB, 512MiB or 4096";

}  // namespace

Result<std::int64_t> parse_byte_size(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) return bad_size(text, kExpected);
  }
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<std::int64_t> unit = unit_bytes(rest);
  if (whole.empty() || !unit) return bad_size(text, kExpected);
  if (whole.size() > 19 || fraction.size() > 6)
    return bad_size(text, "at most 19 digits before and 6 after the point");

  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t number = 0;
  for (const char c : whole) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  if (number > static_cast<std::uint64_t>(kMax / *unit))
    return bad_size(text, "less than 2^63 bytes");
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  for (const char c : fraction) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  // At most 999,999 * 2^40 < 2^63.
  const std::int64_t part = numerator * *unit / denominator;
  const std::int64_t bytes = static_cast<std::int64_t>(number) * *unit;
  if (bytes > kMax - part) return bad_size(text, "less than 2^63 bytes");
  return bytes + part;
}

std::string format_byte_size(std::int64_t bytes) {
  for (std::size_t i = 5; i >= 2; --i)
    if (bytes > 0 && bytes % kUnits[i].bytes == 0)
      return fmt::format("{}{}", bytes / kUnits[i].bytes,
                         std::array{"KiB", "MiB", "GiB", "TiB"}[i - 2]);
  return std::to_string(bytes);
}

}  // namespace hybridscope
