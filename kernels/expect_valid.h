// Contracts between the code that makes operations and contents and the backends that execute them:
// a broken one throws ContractViolation before any byte changes.
#pragma once

#include <cstdint>
#include <span>

#include "core/state/state_backend.h"
#include "core/state/state_ops.h"
#include "kernels/memory_map.h"

namespace hybridscope {

// Groups, blocks, tokens and writes exist, batches are inside their arrays, a bias is not negative.
void expect_valid(const MemoryMap& map, const StateOps& ops);
// Groups and blocks exist, a conv content has a fingerprint for each position of the widest state.
void expect_valid(const MemoryMap& map, const BlockContents& contents);

}  // namespace hybridscope
