// The files that a run of our engine writes step by step (step_files.h).
#pragma once

#include "sessions/job/reported_run.h"
#include "sessions/job/run_options.h"
#include "sessions/job/step_files.h"

namespace hybridscope {

// As the options ask for; `run` must outlive them. Errors: those of StepFiles::begin.
Result<StepFiles> begin_run_files(const RunOptions& options, const ReportedRun& run);

// How the run ended, for its files.
StepsEnd steps_end(const ReportedRun& run, const EarlyEnd& end);

}  // namespace hybridscope
