// What `hybridscope diff` compares and finds; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cli/diff_options.h"
#include "cli/diff_report.h"
#include "core/base/result.h"

namespace hybridscope {

// Why there is no comparison. By usage: the options are wrong, whatever the sessions hold.
struct DiffFailure {
  Error error;
  bool by_usage = false;
};

using TakeDiff = std::function<void(const DiffReport&)>;

// Compares and calls `take`, outside of which the report's words are not valid. `on_step` is called
// for each step that is read of either side; may be empty.
std::optional<DiffFailure> compare_sides(
    const DiffOptions& options, const TakeDiff& take,
    const std::function<void(std::int64_t step)>& on_step = {});

}  // namespace hybridscope
