// The names of a trace's enum values, each list in the order of its enum. Those that are choices of
// a setting as well are in sessions/scenario/settings_table.h.
#pragma once

#include <array>
#include <string_view>

namespace hybridscope {

// Member of a header's config, and section of the settings.
inline constexpr std::string_view kPoliciesKey = "policies";

inline constexpr std::array<std::string_view, 2> kGroupTypeWords = {"full_attention", "mamba"};
inline constexpr std::array<std::string_view, 6> kMambaTypeWords = {
    "mamba1", "mamba2", "linear_attention", "short_conv", "gdn_attention", "kda"};

}  // namespace hybridscope
