#include "kernels/tiles/copy_tiles.h"

#include <algorithm>
#include <limits>
#include <string>

namespace hybridscope {
namespace {

// Ranges and slices begin at multiples of this many bytes (kRowGranule: rows of a DS window), so
// that they are aligned for the widest copies if the state is.
constexpr std::int64_t kGranule = 512;
constexpr std::int64_t kRowGranule = 8;

// One state of the layout, and what its tiles have in common.
struct State {
  StateGeometry geometry;
  std::int64_t block_bytes = 0;  // that a copy without a bias moves
  CopyTile tile;
};

// The most bytes of each position for which a slice of the whole window fits one tile.
std::int64_t most_slice_bytes(const State& state, std::int64_t tile_bytes) {
  const std::int64_t most = tile_bytes / state.geometry.conv_width;
  if (most >= kGranule) return round_down(most, kGranule);
  return round_down(most, most >= 16 ? std::int64_t{16} : state.geometry.elem_size);
}

std::int64_t part_of(std::int64_t total, std::int64_t num_parts, std::int64_t granule) {
  return round_up(cdiv(total, num_parts), granule);
}

void append(CopyTiles& result, State& state, std::int64_t num_tiles, std::int64_t range,
            std::int64_t num_slices, std::int64_t slice) {
  for (std::int64_t i = 0; i < num_tiles; ++i) {
    const auto within = [](std::int64_t size, std::int64_t begin, std::int64_t end) {
      return static_cast<std::int32_t>(std::clamp(end - begin, std::int64_t{0}, size));
    };
    state.tile.first_byte = static_cast<std::int32_t>(std::min(i * range, state.block_bytes));
    state.tile.num_bytes = within(range, i * range, state.block_bytes);
    state.tile.first_slice = static_cast<std::int32_t>(std::min(i * slice, num_slices));
    state.tile.slice_size = within(slice, i * slice, num_slices);
    result.tiles.push_back(state.tile);
  }
}

Status append_dim_first(CopyTiles& result, State& state, std::int64_t tile_bytes) {
  const std::int64_t row_stride = state.geometry.dim_row_stride;
  const std::int64_t most_rows = round_down(tile_bytes / row_stride, kRowGranule);
  if (most_rows == 0)
    return invalid_input("rows of " + std::to_string(row_stride) + " bytes: fewer than " +
                         std::to_string(kRowGranule) + " fit a tile of " +
                         std::to_string(tile_bytes) + " bytes");
  const std::int64_t num_rows = state.geometry.dim_row_count;
  const std::int64_t num_tiles = cdiv(num_rows, most_rows);
  append(result, state, num_tiles, tile_bytes, num_rows, part_of(num_rows, num_tiles, kRowGranule));
  return Ok{};
}

Status append_state(CopyTiles& result, State& state, std::int64_t tile_bytes) {
  if (state.block_bytes <= 0) return Ok{};
  if (state.block_bytes > std::numeric_limits<std::int32_t>::max())
    return invalid_input(std::to_string(state.block_bytes) +
                         " bytes a block, expected fewer than 2^31");
  if (state.geometry.dim_row_count > 0) return append_dim_first(result, state, tile_bytes);
  std::int64_t num_tiles = cdiv(state.block_bytes, tile_bytes);
  std::int64_t slice = 0;
  std::int64_t position_bytes = 0;
  if (state.geometry.is_conv()) {
    position_bytes = state.block_bytes / state.geometry.conv_width;
    const std::int64_t most = most_slice_bytes(state, tile_bytes);
    if (most == 0)
      return invalid_input("a window of " + std::to_string(state.geometry.conv_width) +
                           " positions does not fit a tile of " + std::to_string(tile_bytes) +
                           " bytes");
    num_tiles = std::max(num_tiles, cdiv(position_bytes, most));
    slice = std::min(most, part_of(position_bytes, num_tiles, std::int64_t{16}));
    num_tiles = std::max(num_tiles, cdiv(position_bytes, slice));
  }
  const std::int64_t range =
      state.geometry.is_conv()
          ? std::min(tile_bytes, part_of(state.block_bytes, num_tiles, kGranule))
          : tile_bytes;
  append(result, state, num_tiles, range, position_bytes, slice);
  return Ok{};
}

State describe(const StateLayout& layout, std::int32_t index) {
  State state;
  state.geometry = layout.geometry(index);
  const StateGeometry& geometry = state.geometry;
  const std::int64_t positions = geometry.is_conv() ? geometry.conv_width : 1;
  const bool dim_first = geometry.dim_row_count > 0;
  state.block_bytes = dim_first ? geometry.dim_row_count * geometry.dim_row_stride
                                : positions * geometry.inner_size * geometry.elem_size;
  state.tile.block_stride = geometry.block_stride;
  state.tile.state_index = index;
  state.tile.group_index = geometry.group_index;
  state.tile.conv_width = geometry.conv_width;
  state.tile.position_bytes =
      geometry.is_conv() ? static_cast<std::int32_t>(geometry.inner_size * geometry.elem_size) : 0;
  state.tile.row_stride = dim_first ? static_cast<std::int32_t>(geometry.dim_row_stride) : 0;
  return state;
}

std::int32_t stripe_of(const CopyTiles& result, std::span<const std::size_t> ends) {
  const std::size_t first = ends.empty() ? 0 : ends[0];
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (ends[i] != (i + 1) * first) return static_cast<std::int32_t>(result.tiles.size());
  return static_cast<std::int32_t>(first);
}

}  // namespace

Result<CopyTiles> make_copy_tiles(const StateLayout& layout, std::int32_t tile_bytes) {
  HS_EXPECT(tile_bytes > 0 && tile_bytes % kGranule == 0);
  constexpr std::size_t kMostTiles = std::size_t{1} << 21;
  CopyTiles result;
  std::vector<std::size_t> ends;  // of each layer's tiles
  for (std::int32_t i = 0; i < layout.num_states(); ++i) {
    State state = describe(layout, i);
    if (Status status = append_state(result, state, tile_bytes); !status)
      return invalid_input("state " + std::to_string(i) + ": " + status.error().message);
    if (result.tiles.size() >= kMostTiles)
      return invalid_input("state " + std::to_string(i) + ": " +
                           std::to_string(result.tiles.size()) + " tiles of " +
                           std::to_string(tile_bytes) + " bytes, expected fewer than 2^21");
    if ((i + 1) % layout.num_state_types == 0) ends.push_back(result.tiles.size());
  }
  result.tiles_per_stripe = stripe_of(result, ends);
  return result;
}

}  // namespace hybridscope
