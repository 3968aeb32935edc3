// Reads a PNG file back.
#pragma once

#include <fmt/core.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gui/surface.h"

namespace hybridscope::test {

// Error io: no such file, not a PNG.
inline Result<Image> read_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0)
    return Error{ErrorKind::io, fmt::format("{}: {}", path, png.message)};
  png.format = PNG_FORMAT_RGBA;
  Image image{.size = {static_cast<std::int32_t>(png.width), static_cast<std::int32_t>(png.height)},
              .rgba = std::vector<std::uint8_t>(PNG_IMAGE_SIZE(png))};
  if (png_image_finish_read(&png, nullptr, image.rgba.data(), 0, nullptr) == 0)
    return Error{ErrorKind::io, fmt::format("{}: {}", path, png.message)};
  return image;
}

}  // namespace hybridscope::test
