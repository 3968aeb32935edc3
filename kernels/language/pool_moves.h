// Copies between blocks of a device's pools that meet: a block that one writes is read or written
// by another. Sources are all read before anything is written, and what is written last stays, as
// NumericMemory does it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/language/numeric_memory.h"
#include "core/numeric/model_forward.h"
#include "core/state/state_ops.h"
#include "kernels/language/pool_kernels.h"

namespace hybridscope {

struct PoolMoves {
  // Read into an array, and then a window that moves inside its block, losing positions.
  struct Read {
    std::vector<PlacedFloats> floats;
    std::optional<StateCopyOp> shift;
  };
  std::vector<Read> reads;           // in order
  std::vector<PlacedFloats> writes;  // in order, out of the same array
  std::int64_t num_floats = 0;       // of the array
};

// `layers`: the pools on the device.
PoolMoves meeting_state_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const StateCopyOp> copies, bool shifts_last_position_first);
PoolMoves meeting_block_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const BlockCopy> copies);

// The copies between blocks that exist.
std::vector<BlockCopy> copies_of_blocks(const LanguageLayout& layout,
                                        std::span<const BlockCopy> copies);
bool do_meet(std::span<const BlockCopy> copies);

}  // namespace hybridscope
