#include "sessions/text/edit_distance.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

// Changes ASCII letters only.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_key_hint(std::string_view key,
                             const std::vector<std::string_view>& known_keys) {
  const std::string typed = lower_case(key);
  std::string_view nearest;
  std::size_t distance = std::max<std::size_t>(2, key.size() / 3) + 1;
  for (const std::string_view known : known_keys) {
    if (key.size() > 2 * known.size() + 2) continue;
    const std::string there = lower_case(known);
    const bool prefix = !key.empty() && (there.starts_with(typed) || typed.starts_with(there));
    const std::size_t d = there == typed ? 0 : prefix ? 1 : edit_distance(typed, there);
    if (d < distance && d < known.size()) {
      distance = d;
      nearest = known;
    }
  }
  return nearest.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", nearest);
}

}  // namespace hybridscope
