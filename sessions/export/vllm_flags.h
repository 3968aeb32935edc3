// The settings of a run as the flags and variables that start vLLM with them.
#pragma once

#include <string>
#include <vector>

#include "sessions/export/exported_run.h"

namespace hybridscope {

struct VllmFlags {
  std::vector<std::string> variables;  // "VLLM_SSM_CONV_STATE_LAYOUT=DS"
  std::vector<std::string> flags;      // "--block-size 8", values quoted for a shell
  std::vector<std::string> others;     // "seed 7": set, but not a flag of vllm serve
};

// The sizes, cache mode and scheduling that the engine started with, then everything else that the
// scenario sets except the profile. Names: vLLM 0.24 (engine/arg_utils.py, envs.py).
VllmFlags vllm_flags(const ExportedRun& run);

}  // namespace hybridscope
