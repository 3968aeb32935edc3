// Did the kernels of a machine decide about copies as the engine did?
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/state/copy_launch.h"

namespace hybridscope {

// `decided`: [rows], beside the launch's decisions. Error (device): the first row whose decision is
// another one, with its request, columns, and the groups and blocks of the engine's copies.
Status compare_decisions(const CopyLaunch& launch, std::span<const StateCopyDecision> decided);

}  // namespace hybridscope
