// The releases of vLLM that are modelled, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hybridscope {

// 0.25.0 is the same engine as 0.25.1, 0.27.0 was not looked at.
enum class Release : std::uint8_t {
  v0_24_0,
  v0_25_1,
  v0_26_0,
  v0_27_1,
  v0_28_0,
  v0_29_0,
  v0_30_0,
  v0_31_0,
  v0_32_0,
  v0_33_0,
};
inline constexpr Release kNewestRelease = Release::v0_33_0;

// "0.24.0", ..., in order.
std::span<const std::string_view> release_names();
std::string_view release_name(Release release);

// Takes "0.25.0" as well. Empty for any other text.
std::optional<Release> parse_release(std::string_view name);

}  // namespace hybridscope
