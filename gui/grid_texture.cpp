#include "gui/grid_texture.h"

#include <GL/gl.h>

#include <algorithm>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {
namespace {

std::int32_t largest_texture() {
  GLint side = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &side);
  return std::max<GLint>(side, 1024);  // OpenGL 3 promises as much
}

ImTextureID imgui_id(unsigned texture) {
  return reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(texture));
}

}  // namespace

GridTexture::~GridTexture() { free_tiles(); }

void GridTexture::free_tiles() {
  for (const Tile& tile : std::exchange(tiles_, {})) glDeleteTextures(1, &tile.texture);
}

void GridTexture::make_tiles(std::int32_t max_side) {
  for (std::int32_t top = 0; top < height_; top += max_side)
    for (std::int32_t left = 0; left < width_; left += max_side) {
      Tile tile{.left = left,
                .top = top,
                .width = std::min(max_side, width_ - left),
                .height = std::min(max_side, height_ - top)};
      glGenTextures(1, &tile.texture);
      glBindTexture(GL_TEXTURE_2D, tile.texture);
      glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
      glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
      glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, tile.width, tile.height, 0, GL_RGBA,
                   GL_UNSIGNED_BYTE, nullptr);
      tiles_.push_back(tile);
    }
}

void GridTexture::set(std::span<const std::uint32_t> pixels, std::int32_t width,
                      std::int32_t height, std::int32_t max_side) {
  HS_EXPECT(pixels.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  if (width != width_ || height != height_) {
    free_tiles();
    width_ = width;
    height_ = height;
    make_tiles(max_side > 0 ? max_side : largest_texture());
  }
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, width);
  for (const Tile& tile : tiles_) {
    const std::size_t first = static_cast<std::size_t>(tile.top) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(tile.left);
    glBindTexture(GL_TEXTURE_2D, tile.texture);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, tile.width, tile.height, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.subspan(first).data());
  }
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
}

void GridTexture::draw(ImDrawList& list, ImVec2 at, ImVec2 cell) const {
  for (const Tile& tile : tiles_) {
    const ImVec2 min(at.x + cell.x * static_cast<float>(tile.left),
                     at.y + cell.y * static_cast<float>(tile.top));
    list.AddImage(imgui_id(tile.texture), min,
                  ImVec2(min.x + cell.x * static_cast<float>(tile.width),
                         min.y + cell.y * static_cast<float>(tile.height)));
  }
}

}  // namespace hybridscope
