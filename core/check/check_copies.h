// Whether the copies of a launch are those that its decisions call for.
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Checks that decisions belong to their rows, and that each one that copies has one copy in every
// mamba group, with its shift and the blocks of its columns in the worker's table
// (semantics: collect-mamba-copy-meta). False: a copy refers to no decision or group; the launch
// may not be executed.
bool check_copies(CheckContext& context, const CopyLaunch& launch);

}  // namespace hybridscope
