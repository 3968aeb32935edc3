// Images as PNG files.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/surface.h"

namespace hybridscope {

// Whole or not at all. Error io: what keeps the file from being written.
Status write_png(const Image& image, const std::string& path);
// Error io: no such file, no PNG.
Result<Image> read_png(const std::string& path);

}  // namespace hybridscope
