// Images as PNG files.
#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/surface.h"

namespace hybridscope {

// Writes the whole file or nothing. Error device: the file cannot be written.
Status write_png(const Image& image, const std::string& path);

}  // namespace hybridscope
