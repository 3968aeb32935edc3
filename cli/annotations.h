// Annotations of GitHub Actions: lines that the runner takes from the output of a step and shows
// beside the code ("Workflow commands for GitHub Actions").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tested_unit.h"

namespace hybridscope {

// GitHub shows 10 of each kind per step and silently drops the rest.
inline constexpr std::int64_t kMaxAnnotations = 9;  // of each severity

// What follows "::": %, CR and LF are written as %25, %0D and %0A.
std::string annotation_data(std::string_view text);
// A value between commas: : and , too, as %3A and %2C.
std::string annotation_property(std::string_view text);

// The first kMaxAnnotations errors and as many warnings of all units, a line each, in order; then,
// if there are more, a notice that says how many.
std::string annotations_text(std::span<const TestedUnit> units);

}  // namespace hybridscope
