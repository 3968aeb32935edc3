// What `hybridscope diff` compares and finds; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/result.h"
#include "sessions/job/diff_report.h"
#include "sessions/job/diff_sides.h"

namespace hybridscope {

// Why there is no comparison. By usage: the options are wrong, whatever the sessions hold.
struct DiffFailure {
  Error error;
  bool by_usage = false;
};

using TakeDiff = std::function<void(const DiffReport&)>;

// Both may be empty.
struct DiffWatch {
  std::function<void(std::int64_t step)> on_step = {};  // for each step read of either side
  std::function<bool()> stopped = {};  // true: it ends before the next step, as interrupted
};

// Compares and calls `take`, outside of which the report's words are not valid.
std::optional<DiffFailure> compare_sides(const DiffOptions& options, const TakeDiff& take,
                                         const DiffWatch& watch = {});

}  // namespace hybridscope
