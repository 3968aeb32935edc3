// The bytes of a stream, for functions that read files.
#pragma once

#include <istream>

#include "sessions/text/input_file.h"

namespace hybridscope::test {

// `lines` must outlive the result.
inline ReadBytes bytes_of(std::istream& lines) {
  return [&lines](std::span<char> bytes) -> Result<std::size_t> {
    return static_cast<std::size_t>(
        lines.rdbuf()->sgetn(bytes.data(), static_cast<std::streamsize>(bytes.size())));
  };
}

}  // namespace hybridscope::test
