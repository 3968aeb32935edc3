// The names of a trace's enum values, each list in the order of its enum.
#pragma once

#include <array>
#include <string_view>

namespace hybridscope {

inline constexpr std::array<std::string_view, 3> kCacheModeWords = {"none", "all", "align"};
inline constexpr std::array<std::string_view, 4> kSpeculativeMethodWords = {"none", "mtp", "ngram",
                                                                            "draft_model"};
inline constexpr std::array<std::string_view, 5> kCudagraphModeWords = {
    "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"};
inline constexpr std::array<std::string_view, 2> kGroupTypeWords = {"full_attention", "mamba"};
inline constexpr std::array<std::string_view, 6> kMambaTypeWords = {
    "mamba1", "mamba2", "linear_attention", "short_conv", "gdn_attention", "kda"};

}  // namespace hybridscope
