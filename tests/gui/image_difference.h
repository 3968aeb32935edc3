// Compares a picture with the expected one: tolerates differences between renderer versions, but
// not differences that a person would see.
#pragma once

#include <fmt/core.h>
#include <png.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gui/surface.h"

namespace hybridscope::test {

struct ImageTolerance {
  // A channel that differs by more than this is visible. Slightly different edges have few such
  // pixels per square, a different mark has many.
  std::int32_t seen = 24;
  std::int32_t square = 16;           // pixels along a side
  std::int32_t most_in_a_square = 8;  // visibly different pixels
  // A channel that differs by more than this is not the same; the share of all pixels that may.
  std::int32_t same = 6;
  double most_of_all = 0.01;
};

struct ImageDifference {
  // "squares of 16x16 with more than 8 other pixels: 3, the first at 32, 48". Empty: close enough.
  std::string words;
  // The expected picture, pale, with differing pixels in red.
  Image marked;
};

ImageDifference difference_of(const Image& expected, const Image& actual,
                              const ImageTolerance& tolerance);

// Reads a PNG file back.

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

// The largest difference of a channel, for each pixel.
inline std::vector<std::int32_t> channel_differences(const Image& expected, const Image& actual) {
  std::vector<std::int32_t> found(expected.rgba.size() / 4);
  for (std::size_t pixel = 0; pixel < found.size(); ++pixel)
    for (std::size_t channel = 0; channel < 3; ++channel)
      found[pixel] = std::max(found[pixel], std::abs(expected.rgba[pixel * 4 + channel] -
                                                     actual.rgba[pixel * 4 + channel]));
  return found;
}

inline Image marked_picture(const Image& expected, const std::vector<std::int32_t>& differences,
                            std::int32_t same) {
  Image marked = expected;
  for (std::size_t pixel = 0; pixel < differences.size(); ++pixel)
    for (std::size_t channel = 0; channel < 3; ++channel) {
      std::uint8_t& value = marked.rgba[pixel * 4 + channel];
      if (differences[pixel] > same)
        value = channel == 0 ? 255 : 0;
      else
        value = static_cast<std::uint8_t>(160 + value / 4);
    }
  return marked;
}

inline std::string words_about_squares(const std::vector<std::int32_t>& differences, PixelSize size,
                                       const ImageTolerance& tolerance) {
  int squares = 0;
  PixelSize first;
  for (std::int32_t top = 0; top < size.height; top += tolerance.square)
    for (std::int32_t left = 0; left < size.width; left += tolerance.square) {
      int seen = 0;
      for (std::int32_t y = top; y < std::min(top + tolerance.square, size.height); ++y)
        for (std::int32_t x = left; x < std::min(left + tolerance.square, size.width); ++x)
          seen += differences[static_cast<std::size_t>(y * size.width + x)] > tolerance.seen;
      if (seen <= tolerance.most_in_a_square) continue;
      if (++squares == 1) first = {left, top};
    }
  if (squares == 0) return {};
  return fmt::format(
      "squares of {0}x{0} with more than {1} other pixels: {2}, the first at {3}, {4}",
      tolerance.square, tolerance.most_in_a_square, squares, first.width, first.height);
}

inline std::string words_about_all(const std::vector<std::int32_t>& differences,
                                   const ImageTolerance& tolerance) {
  const auto count =
      std::ranges::count_if(differences, [&](std::int32_t d) { return d > tolerance.same; });
  const double share = static_cast<double>(count) / static_cast<double>(differences.size());
  if (share <= tolerance.most_of_all) return {};
  return fmt::format("{:.1f} % of the pixels are not the same, {:.1f} % may", share * 100,
                     tolerance.most_of_all * 100);
}

inline ImageDifference difference_of(const Image& expected, const Image& actual,
                                     const ImageTolerance& tolerance) {
  if (expected.size != actual.size)
    return {fmt::format("expected {}x{} pixels, found {}x{}", expected.size.width,
                        expected.size.height, actual.size.width, actual.size.height),
            expected};
  const auto differences = channel_differences(expected, actual);
  std::string words = words_about_squares(differences, expected.size, tolerance);
  if (words.empty()) words = words_about_all(differences, tolerance);
  return {std::move(words), marked_picture(expected, differences, tolerance.same)};
}

}  // namespace hybridscope::test
