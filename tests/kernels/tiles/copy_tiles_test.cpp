// Tiles: all of a state's together move what the plain copy moves, whatever runs first.
#include "kernels/tiles/copy_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "kernels/cpu/state_copy_cpu.h"
#include "tests/support/property.h"

namespace hybridscope::test::copy_tiles_test {
namespace {

struct OneState {
  StateTensor tensor;
  StateKind kind = StateKind::temporal;
  ConvStateLayout layout = ConvStateLayout::SD;
};

StateLayout layout_of(const OneState& state) {
  MambaStateTensors tensors;
  tensors.conv_state_layout = state.layout;
  tensors.block_size = 8;
  tensors.mamba_group_ids = {0};
  tensors.state_kinds = {state.kind};
  tensors.layers = {{.group_index = 0, .states = {state.tensor}}};
  const std::vector<std::int64_t> strides{8};
  return make_state_layout(tensors, strides).value();
}

OneState conv_sd(std::int64_t positions, std::int64_t dim, std::int32_t elem_size,
                 std::int64_t page_bytes) {
  return {.tensor = {.shape = {4, positions, dim},
                     .stride = {page_bytes / elem_size, dim, 1},
                     .elem_size = elem_size},
          .kind = StateKind::conv};
}

// qwen3-next with two drafts: 5 positions of 8192 bfloat16 channels are 8 tiles of 10 KiB; a shift
// takes slices of 2 KiB of each position.
TEST(CopyTiles, AConvWindowIsCutIntoRangesAndIntoSlicesOfItsChannels) {
  const auto tiles = make_copy_tiles(layout_of(conv_sd(5, 8192, 2, 1 << 17)), 10240).value();
  ASSERT_EQ(tiles.tiles.size(), 8U);
  EXPECT_EQ(tiles.tiles[7].first_byte, 71680);
  EXPECT_EQ(tiles.tiles[7].num_bytes, 10240);
  EXPECT_EQ(tiles.tiles[7].first_slice, 14336);
  EXPECT_EQ(tiles.tiles[7].slice_size, 2048);

  const TileCopy moved = make_tile_copy(tiles.tiles[7], {.src_block = 1, .dst_block = 2});
  EXPECT_EQ(moved.src_byte_offset, 131072 + 71680);
  EXPECT_EQ(moved.dst_byte_offset, 262144 + 71680);
  EXPECT_EQ(moved.num_segments, 1);

  const TileCopy shifted =
      make_tile_copy(tiles.tiles[7], {.src_block = 1, .dst_block = 1, .accept_token_bias = 2});
  EXPECT_EQ(shifted.src_byte_offset, 131072 + 2 * 16384 + 14336);
  EXPECT_EQ(shifted.dst_byte_offset, 131072 + 14336);
  EXPECT_EQ(shifted.num_segments, 3);
  EXPECT_EQ(shifted.segment_bytes, 2048);
  EXPECT_EQ(shifted.order, TileOrder::ascending);
}

TEST(CopyTiles, NothingMovesWithinABlockWithoutABiasNorPastTheWindow) {
  const CopyTile conv = make_copy_tiles(layout_of(conv_sd(5, 8, 2, 128)), 10240).value().tiles[0];
  EXPECT_EQ(make_tile_copy(conv, {.src_block = 1, .dst_block = 1}).num_segments, 0);
  EXPECT_EQ(
      make_tile_copy(conv, {.src_block = 1, .dst_block = 2, .accept_token_bias = 5}).num_segments,
      0);
}

// A stride beyond 2^31: block 3 of pages of 1 GiB.
TEST(CopyTiles, OffsetsHave64Bits) {
  const OneState state{
      .tensor = {.shape = {4, 16}, .stride = {std::int64_t{1} << 29, 1}, .elem_size = 2}};
  const CopyTile tile = make_copy_tiles(layout_of(state), 512).value().tiles[0];
  EXPECT_EQ(make_tile_copy(tile, {.src_block = 3, .dst_block = 1}).src_byte_offset, 3221225472);
}

// Layers of one shape: the tiles of a layer. Of two: all of them.
TEST(CopyTiles, AStripeIsALayerWhereAllLayersHaveAsManyTiles) {
  const auto temporal = [](std::int64_t elements) {
    return StateTensor{.shape = {4, elements}, .stride = {elements, 1}, .elem_size = 4};
  };
  MambaStateTensors tensors;
  tensors.block_size = 8;
  tensors.mamba_group_ids = {0};
  tensors.state_kinds = {StateKind::temporal};
  tensors.layers = {{0, {temporal(256)}}, {0, {temporal(256)}}};
  const std::vector<std::int64_t> strides{8};
  const StateLayout same = make_state_layout(tensors, strides).value();
  EXPECT_EQ(make_copy_tiles(same, 512).value().tiles_per_stripe, 2);
  tensors.layers[1].states[0] = temporal(512);
  const StateLayout other = make_state_layout(tensors, strides).value();
  EXPECT_EQ(make_copy_tiles(other, 512).value().tiles_per_stripe, 6);
}

TEST(CopyTiles, AWindowTooWideForATileIsRefused) {
  const auto tiles = make_copy_tiles(layout_of(conv_sd(600, 8, 2, 9600)), 512);
  ASSERT_FALSE(tiles.ok());
  EXPECT_EQ(tiles.error().message,
            "state 0: a window of 600 positions does not fit a tile of 512 bytes");
}

// 512 bytes hold 5 bytes of each of 100 positions: slices are whole elements of 2 bytes.
TEST(CopyTiles, ASliceIsOfWholeElements) {
  const auto tiles = make_copy_tiles(layout_of(conv_sd(100, 8, 2, 1600)), 512).value();
  for (const CopyTile& tile : tiles.tiles) {
    EXPECT_EQ(tile.first_slice % 2, 0);
    EXPECT_LE(tile.slice_size, 4);
  }
}

// As a worker does it: everything in the order that TileOrder asks for, and no more care than that.
void run_tile(const TileCopy& copy, std::vector<std::byte>& state) {
  const auto at = [&](std::int64_t offset) { return state.data() + offset; };
  for (std::int32_t i = 0; i < copy.num_segments; ++i) {
    std::byte* dst = at(copy.dst_byte_offset + i * copy.pitch);
    const std::byte* src = at(copy.src_byte_offset + i * copy.pitch);
    if (copy.order == TileOrder::rows)
      std::memmove(dst, src, static_cast<std::size_t>(copy.segment_bytes));
    else
      std::memcpy(dst, src, static_cast<std::size_t>(copy.segment_bytes));
  }
}

OneState draw_state() {
  OneState state;
  const std::int32_t elem_size = one_in(2) ? 2 : 4;
  const std::int64_t positions = draw(1, 9);
  const std::int64_t dim = draw(1, one_in(3) ? 700 : 40);
  const std::int64_t padding = draw(0, 9);
  switch (draw(0, 2)) {
    case 0:
      state.tensor.shape = {5, positions, dim};
      state.tensor.stride = {positions * dim + padding, dim, 1};
      state.kind = StateKind::conv;
      break;
    case 1: {
      const std::int64_t row = positions + (one_in(3) ? draw(1, 3) : 0);
      state.tensor.shape = {5, dim, positions};
      state.tensor.stride = {dim * row + padding, row, 1};
      state.kind = StateKind::conv;
      state.layout = ConvStateLayout::DS;
      break;
    }
    default:
      state.tensor.shape = {5, positions, dim};
      state.tensor.stride = {positions * dim + padding, dim, 1};
  }
  state.tensor.elem_size = elem_size;
  return state;
}

TEST(CopyTiles, TogetherTheyMoveWhatThePlainCopyMovesInAnyOrder) {
  check_property(400, [] {
    const OneState state = draw_state();
    const StateLayout layout = layout_of(state);
    const std::int32_t tile_bytes = 512 * draw(1, 3);
    auto tiles = make_copy_tiles(layout, tile_bytes).value();
    std::vector<std::byte> plain(static_cast<std::size_t>(5 * state.tensor.block_stride_bytes()));
    std::mt19937 random(static_cast<std::uint32_t>(draw(0, 1 << 20)));
    for (std::byte& byte : plain) byte = static_cast<std::byte>(random() % 256);
    std::vector<std::byte> tiled = plain;

    const std::int32_t bias = state.kind == StateKind::conv ? draw(0, 9) : 0;
    const std::int32_t src_block = draw(1, 4);
    const std::int32_t dst_block = one_in(2) ? src_block : draw(1, 4);
    execute_copy(make_state_copy(
                     0, layout.geometry(0),
                     {.src_block = src_block, .dst_block = dst_block, .accept_token_bias = bias}),
                 plain);
    if (one_in(2)) std::ranges::reverse(tiles.tiles);
    for (const CopyTile& tile : tiles.tiles) {
      const TileCopy copy = make_tile_copy(
          tile, {.src_block = src_block, .dst_block = dst_block, .accept_token_bias = bias});
      RC_ASSERT(copy.segment_bytes * std::max(copy.num_segments, 1) <= tile_bytes);
      run_tile(copy, tiled);
    }
    RC_ASSERT(tiled == plain);
  });
}

}  // namespace
}  // namespace hybridscope::test::copy_tiles_test
