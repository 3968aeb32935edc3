// An edited recorded session: run again by its changed plan, and compared with the recording up to
// the edit.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "gui/model/live_run.h"

namespace hybridscope {

// A run of `plan`, which equals the session's plan up to `step`, at that step. Errors: a step up to
// there that our engine makes differently than recorded; those of the engine and the file.
Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step);

}  // namespace hybridscope
