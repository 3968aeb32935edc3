// Bytes of a file or of standard input, a piece at a time; what is compressed comes unpacked.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

// Fills the front of the span, which is never empty, and answers with how many bytes; 0: the end.
// Errors do not name the file: who reads knows at which of its lines they came up.
using ReadBytes = std::function<Result<std::size_t>(std::span<char>)>;

// Error io, with the path: a directory, or a file that cannot be opened.
Result<ReadBytes> open_input_file(const std::string& path);

ReadBytes read_standard_input();

}  // namespace hybridscope
