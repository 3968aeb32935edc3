// Whether the copies of a launch are those that its decisions call for.
#pragma once

#include "core/check/check_context.h"

namespace hybridscope {

// Decisions belong to their rows; each that copies has one copy in every mamba group, with the
// blocks of its columns in the worker's table and its shift (semantics: collect-mamba-copy-meta).
// False: a copy refers to no decision or group, the launch may not be carried out.
bool check_copies(CheckContext& context, const CopyLaunch& launch);

}  // namespace hybridscope
