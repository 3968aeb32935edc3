// A text file built into the program by cmake/EmbedText.cmake.
#pragma once

#include <string_view>

namespace hybridscope {

struct EmbeddedFile {
  std::string_view path;  // relative to the folder of the embedded files
  std::string_view text;
};

}  // namespace hybridscope
