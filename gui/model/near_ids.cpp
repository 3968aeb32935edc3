#include "gui/model/near_ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "gui/model/fuzzy_match.h"
#include "sessions/text/edit_distance.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostNamed = 4;

// The smaller the nearer.
struct Nearness {
  MatchKind kind = MatchKind::scattered;
  std::size_t distance = 0;  // of the spelling
  std::string_view id;
};

Nearness nearness(std::string_view typed, const NamedId& known) {
  Nearness near{.distance = edit_distance(typed, known.id), .id = known.id};
  for (const std::string_view name : {known.id, known.title})
    if (const auto match = fuzzy_match(typed, name)) near.kind = std::min(near.kind, match->kind);
  return near;
}

}  // namespace

std::string near_ids_hint(std::string_view typed, const std::vector<NamedId>& known) {
  const std::size_t most_distant = std::max<std::size_t>(2, typed.size() / 3);
  std::vector<Nearness> near;
  for (const NamedId& name : known) {
    const Nearness found = nearness(typed, name);
    if (found.kind < MatchKind::scattered || found.distance <= most_distant) near.push_back(found);
  }
  std::ranges::stable_sort(near, {},
                           [](const Nearness& n) { return std::tuple(n.kind, n.distance); });
  near.resize(std::min(near.size(), kMostNamed));
  std::string words;
  for (std::size_t i = 0; i < near.size(); ++i)
    words += fmt::format("{}\"{}\"",
                         i == 0                 ? ""
                         : i + 1 == near.size() ? " or "
                                                : ", ",
                         near[i].id);
  return words.empty() ? words : fmt::format(", did you mean {}?", words);
}

}  // namespace hybridscope
