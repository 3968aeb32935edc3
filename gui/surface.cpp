#include "gui/surface.h"

#include <GL/gl.h>
#include <fmt/core.h>
#include <png.h>
#include <algorithm>
#include <string>

#include "sessions/text/output_file.h"

namespace hybridscope {

// Pixels from OpenGL, and into PNG files.

Image read_pixels(const Surface& surface) {
  Image image{.size = surface.size(), .rgba = {}};
  const auto row = static_cast<std::size_t>(image.size.width) * 4;
  const auto height = static_cast<std::size_t>(image.size.height);
  std::vector<std::uint8_t> upside_down(row * height);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, image.size.width, image.size.height, GL_RGBA, GL_UNSIGNED_BYTE,
               upside_down.data());
  image.rgba.reserve(upside_down.size());
  for (std::size_t y = height; y-- > 0;) {
    const auto from = upside_down.begin() + static_cast<std::ptrdiff_t>(y * row);
    image.rgba.insert(image.rgba.end(), from, from + static_cast<std::ptrdiff_t>(row));
  }
  for (std::size_t i = 3; i < image.rgba.size(); i += 4) image.rgba[i] = 255;
  return image;
}

Image cut_out(const Image& image, const PixelRect& rect) {
  const std::int32_t left = std::clamp(rect.x, 0, image.size.width);
  const std::int32_t top = std::clamp(rect.y, 0, image.size.height);
  const std::int32_t right = std::clamp(rect.x + rect.width, left, image.size.width);
  const std::int32_t bottom = std::clamp(rect.y + rect.height, top, image.size.height);
  Image part{.size = {right - left, bottom - top}, .rgba = {}};
  const auto offset = [&](std::int32_t x, std::int32_t y) {
    return (std::ptrdiff_t{y} * image.size.width + x) * 4;
  };
  for (std::int32_t y = top; y < bottom; ++y)
    part.rgba.insert(part.rgba.end(), image.rgba.begin() + offset(left, y),
                     image.rgba.begin() + offset(right, y));
  return part;
}

std::string opengl_words() {
  const auto* version = reinterpret_cast<const char*>(glGetString(GL_VERSION));
  const auto* renderer = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  return fmt::format("{}, {}", version == nullptr ? "unknown" : version,
                     renderer == nullptr ? "unknown" : renderer);
}

Status write_png(const Image& image, const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.size.width);
  png.height = static_cast<png_uint_32>(image.size.height);
  png.format = PNG_FORMAT_RGBA;
  // Through memory: libpng does not say why a file cannot be written.
  png_alloc_size_t num_bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(num_bytes, '\0');
  if (png_image_write_to_memory(&png, bytes.data(), &num_bytes, 0, image.rgba.data(), 0, nullptr) ==
      0)
    return Error{ErrorKind::device, fmt::format("cannot write {}: {}", path, png.message)};
  bytes.resize(num_bytes);
  return write_output_file(path, bytes);
}

}  // namespace hybridscope
