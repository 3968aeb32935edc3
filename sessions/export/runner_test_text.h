// A run as a Python test of vLLM's V1 runner on CPU tensors: rows, accepted counts, block tables,
// copies of states and the state that each row reads.
#pragma once

#include <string>

#include "core/base/result.h"
#include "sessions/export/exported_run.h"

namespace hybridscope {

// A file for pytest; needs vLLM and triton, but no GPU. Errors, invalid_input: runner V2, mode all,
// conv states with the dimension first.
Result<std::string> runner_test_text(const ExportedRun& run);

// Why the run cannot be exported so; the errors of runner_test_text.
Status check_runner_test(const ExportedRun& run);

}  // namespace hybridscope
