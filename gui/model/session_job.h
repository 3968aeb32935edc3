// The known steps of a run again, as a source for files.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// Independent of the run afterwards. Errors: those of ShownRun::source.
Result<std::unique_ptr<StepSource>> known_steps(const ShownRun& run);

}  // namespace hybridscope
