// Cuts the states of a layout into tiles, once; every launch of a fused copy kernel uses them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/base/math.h"
#include "core/base/result.h"
#include "core/state/state_memory.h"

namespace hybridscope {

// A tile: the part of one state that one worker of a fused copy kernel moves at a time. What it
// moves for a request follows from the blocks alone. One body for the host and for kernels.

// Tiles are made for a StateLayout (copy_tiles.h). A state is cut in two ways: into ranges of
// bytes, for copies from one block to another, and into slices - channels of a conv window, rows of
// a DS one - for shifts inside a block, whose parts must not depend on each other.
struct CopyTile {
  std::int64_t block_stride = 0;    // bytes between blocks
  std::int32_t state_index = 0;     // flat: layer * number of state kinds + state
  std::int32_t group_index = 0;     // into the mamba groups
  std::int32_t conv_width = 0;      // positions of the window; 0: temporal
  std::int32_t position_bytes = 0;  // SD: one position; DS: one element
  std::int32_t row_stride = 0;      // DS: bytes between rows, else 0
  std::int32_t first_byte = 0;      // the range, from the start of what is copied
  std::int32_t num_bytes = 0;
  std::int32_t first_slice = 0;  // the slice; SD: bytes of a position, DS: rows
  std::int32_t slice_size = 0;
};

struct TileBlocks {
  std::int32_t src_block = 0;
  std::int32_t dst_block = 0;
  std::int32_t accept_token_bias = 0;  // >= 0
};

// num_segments regions of segment_bytes each, pitch bytes apart on both sides.
enum class TileOrder : std::int32_t {
  any,        // source and destination do not overlap
  ascending,  // a byte is read before the same offset of an earlier segment is written over it: go
              // through the segments in ascending order for each offset
  rows,       // each segment overlaps its own destination only: memmove within it
};
struct TileCopy {
  std::int64_t src_byte_offset = 0;  // from element [0, 0, ...] of the state tensor
  std::int64_t dst_byte_offset = 0;
  std::int64_t pitch = 0;
  std::int32_t segment_bytes = 0;
  std::int32_t num_segments = 0;  // 0: nothing to move
  TileOrder order = TileOrder::any;
};
static_assert(std::is_trivially_copyable_v<CopyTile> && std::is_trivially_copyable_v<TileCopy>);

namespace copy_tile_detail {

// The part of `total` bytes, from the start of both regions, that the tile's range covers.
HS_HOST_DEVICE constexpr void take_range(const CopyTile& tile, std::int64_t total, TileCopy& copy) {
  const std::int64_t left = total - tile.first_byte;
  if (left <= 0) return;
  copy.src_byte_offset += tile.first_byte;
  copy.dst_byte_offset += tile.first_byte;
  copy.segment_bytes =
      static_cast<std::int32_t>(left < tile.num_bytes ? left : std::int64_t{tile.num_bytes});
  copy.num_segments = 1;
}

}  // namespace copy_tile_detail

// The tile's part of make_state_copy (core/state/state_copy.h) for these blocks; all tiles of a
// state together move what make_state_copy does.
HS_HOST_DEVICE constexpr TileCopy make_tile_copy(const CopyTile& tile, const TileBlocks& blocks) {
  TileCopy copy;
  copy.src_byte_offset = blocks.src_block * tile.block_stride;
  copy.dst_byte_offset = blocks.dst_block * tile.block_stride;
  const bool same_block = blocks.src_block == blocks.dst_block;
  if (tile.conv_width == 0) {
    if (!same_block) copy_tile_detail::take_range(tile, std::int64_t{1} << 62, copy);
    return copy;
  }
  const std::int32_t kept = tile.conv_width - blocks.accept_token_bias;
  if (kept <= 0 || (same_block && blocks.accept_token_bias == 0)) return copy;
  copy.src_byte_offset += std::int64_t{blocks.accept_token_bias} * tile.position_bytes;
  if (tile.row_stride > 0) {
    const bool whole_rows =
        blocks.accept_token_bias == 0 && tile.row_stride == tile.conv_width * tile.position_bytes;
    const std::int64_t first_row = std::int64_t{tile.first_slice} * tile.row_stride;
    copy.src_byte_offset += first_row;
    copy.dst_byte_offset += first_row;
    copy.pitch = tile.row_stride;
    copy.segment_bytes =
        whole_rows ? tile.slice_size * tile.row_stride : kept * tile.position_bytes;
    copy.num_segments = whole_rows ? (tile.slice_size > 0 ? 1 : 0) : tile.slice_size;
    copy.order = whole_rows ? TileOrder::any : TileOrder::rows;
    return copy;
  }
  if (!same_block) {
    copy_tile_detail::take_range(tile, std::int64_t{kept} * tile.position_bytes, copy);
    return copy;
  }
  copy.src_byte_offset += tile.first_slice;
  copy.dst_byte_offset += tile.first_slice;
  copy.pitch = tile.position_bytes;
  copy.segment_bytes = tile.slice_size;
  copy.num_segments = tile.slice_size > 0 ? kept : 0;
  copy.order = TileOrder::ascending;
  return copy;
}

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
