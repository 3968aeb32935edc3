#include "sessions/text/decimal.h"

#include <fmt/core.h>

#include <limits>

#include "core/base/check.h"

namespace hybridscope {
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
