// A recorded session that is edited: made again by its changed plan, and held against what was
// recorded on the way.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "gui/model/live_run.h"

namespace hybridscope {

// The run by `plan`, which says the same as the session's up to `step`, at that step. Errors: our
// engine makes one of the steps up to there otherwise than it was recorded, and which; those of the
// engine and the file.
Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step);

}  // namespace hybridscope
