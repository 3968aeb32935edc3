#include "sessions/text/number_words.h"

#include <fmt/core.h>
#include <array>
#include <cctype>
#include <limits>

#include "core/base/result.h"

namespace hybridscope {

std::string grouped_number(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > first; place -= 3)
    text.insert(static_cast<std::size_t>(place), 1, ',');
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped_number(count), noun, count == 1 ? "" : "s");
}

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

namespace {

constexpr int kFractionDigits = 6;

// value * 10 + digit; false if that is no digit or too much.
bool append_digit(std::int64_t& value, char digit) {
  if (digit < '0' || digit > '9') return false;
  const int added = digit - '0';
  if (value > (std::numeric_limits<std::int64_t>::max() - added) / 10) return false;
  value = value * 10 + added;
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_millionths(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : whole)
    if (!append_digit(value, digit)) return std::nullopt;
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (fraction[i] < '0' || fraction[i] > '9') return std::nullopt;
    if (i < kFractionDigits && !append_digit(value, fraction[i])) return std::nullopt;
  }
  for (std::size_t i = fraction.size(); i < kFractionDigits; ++i)
    if (!append_digit(value, '0')) return std::nullopt;
  return value;
}

std::string format_millionths(std::int64_t value) {
  HS_EXPECT(value >= 0);
  std::string text = fmt::format("{}.{:06}", value / kMillion, value % kMillion);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace hybridscope
