// The Markdown page that GitHub Actions shows for a step ($GITHUB_STEP_SUMMARY).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/tested_unit.h"
#include "core/base/result.h"

namespace hybridscope {

// GitHub refuses a longer page as a whole.
inline constexpr std::size_t kMaxStepSummaryBytes = 1 << 20;

// A heading and a table with one row per unit, those with problems first; at most `max_bytes`, with
// a last line that says how many rows were cut. Empty when not even that fits.
std::string step_summary_text(std::string_view title, std::span<const TestedUnit> units,
                              std::size_t max_bytes);

// Appends it to the file; what other commands of the step wrote counts for the limit. Error io.
Status append_step_summary(const std::string& path, std::string_view title,
                           std::span<const TestedUnit> units);

}  // namespace hybridscope
