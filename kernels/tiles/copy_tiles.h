// Cuts the states of a layout into tiles, once; every launch of a fused copy kernel uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/state/state_layout.h"
#include "kernels/tiles/copy_tile.h"

namespace hybridscope {

struct CopyTiles {
  std::vector<CopyTile> tiles;  // by state index
  // Consecutive tiles that are moved for all requests before the next ones: the tiles of a layer if
  // all layers have equally many, else all tiles. Neighbouring blocks of one layer share memory
  // pages.
  std::int32_t tiles_per_stripe = 0;
};

// Tiles of at most tile_bytes, about equal within a state. Requires: tile_bytes a multiple of 512.
// Error: a state whose block takes 2^31 bytes or more, rows or a channel of a conv window that do
// not fit a tile, 2^21 tiles or more.
Result<CopyTiles> make_copy_tiles(const StateLayout& layout, std::int32_t tile_bytes);

}  // namespace hybridscope
