// The steps of a run that are known at the moment, once more, as a source for files.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// Does not need the run any more. Errors: those of ShownRun::source.
Result<std::unique_ptr<StepSource>> known_steps(const ShownRun& run);

}  // namespace hybridscope
