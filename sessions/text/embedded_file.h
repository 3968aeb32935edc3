// A text file that cmake/EmbedText.cmake put into the program.
#pragma once

#include <string_view>

namespace hybridscope {

struct EmbeddedFile {
  std::string_view path;  // relative to the folder it was taken from
  std::string_view text;
};

}  // namespace hybridscope
