// A grid of cells as textures, one pixel per cell, so that large grids are cheap to draw.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <span>
#include <vector>

namespace hybridscope {

// Grids larger than the driver's limit are several textures side by side. Requires a current OpenGL
// context during its whole life.
class GridTexture {
 public:
  GridTexture() = default;
  ~GridTexture();
  GridTexture(const GridTexture&) = delete;
  GridTexture& operator=(const GridTexture&) = delete;

  // pixels: [height * width], ImGui's packed colours. max_side: of one texture, for tests; 0: the
  // driver's limit.
  void set(std::span<const std::uint32_t> pixels, std::int32_t width, std::int32_t height,
           std::int32_t max_side = 0);
  // The whole grid with its left upper corner at `at`, a cell of the size `cell`.
  void draw(ImDrawList& list, ImVec2 at, ImVec2 cell) const;

 private:
  struct Tile {
    unsigned texture = 0;
    std::int32_t left = 0;
    std::int32_t top = 0;
    std::int32_t width = 0;
    std::int32_t height = 0;
  };
  void make_tiles(std::int32_t max_side);
  void free_tiles();

  std::int32_t width_ = 0;
  std::int32_t height_ = 0;
  std::vector<Tile> tiles_;
};

}  // namespace hybridscope
