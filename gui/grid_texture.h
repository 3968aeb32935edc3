// A grid of cells as pictures, a pixel a cell: what keeps large grids cheap to draw.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <span>
#include <vector>

namespace hybridscope {

// Grids larger than what the driver takes are several textures beside each other. Requires a
// current OpenGL context for all its life.
class GridTexture {
 public:
  GridTexture() = default;
  ~GridTexture();
  GridTexture(const GridTexture&) = delete;
  GridTexture& operator=(const GridTexture&) = delete;

  // pixels: [height * width], ImGui's packed colours. max_side: of one texture, for tests; 0: what
  // the driver takes.
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
