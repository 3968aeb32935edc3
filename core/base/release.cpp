#include "core/base/release.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hybridscope {
namespace {

constexpr std::array<std::string_view, 10> kNames = {"0.24.0", "0.25.1", "0.26.0", "0.27.1",
                                                     "0.28.0", "0.29.0", "0.30.0", "0.31.0",
                                                     "0.32.0", "0.33.0"};

}  // namespace

std::span<const std::string_view> release_names() { return kNames; }

std::string_view release_name(Release release) { return kNames[static_cast<std::size_t>(release)]; }

std::optional<Release> parse_release(std::string_view name) {
  if (name == "0.25.0") return Release::v0_25_1;
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Release>(found - kNames.begin());
}

}  // namespace hybridscope
