// Reads the bytes of a file or of standard input piece by piece, and unpacks compressed data.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

// Fills the beginning of the span, which is never empty, and returns the number of bytes; 0: the
// end. Errors do not name the file: the caller knows file and line.
using ReadBytes = std::function<Result<std::size_t>(std::span<char>)>;

// Error io, with the path: a directory, or a file that cannot be opened. Ends too when `stop`
// holds, also while there is nothing to read, as in a named pipe without a writer. With an empty
// `stop` reading fails with not_available when the program was asked to stop (stop_request.h).
Result<ReadBytes> open_input_file(const std::string& path, std::function<bool()> stop = {});
// Opens a file whose bytes are taken as they are, compressed or not.
Result<ReadBytes> open_plain_file(const std::string& path, std::function<bool()> stop = {});
// Reads standard input, as open_plain_file() a file.
ReadBytes read_standard_input(std::function<bool()> stop = {});

// Reads from `read`. A zstd stream is unpacked, only as far as requested; other data is passed on
// unchanged. Several consecutive frames are one stream. Unpacking ends as reading does (`stop`, see
// above), however much little data unpacks to. Errors: those of `read`; corrupt for a damaged or
// truncated stream.
ReadBytes unpack_zstd(ReadBytes read, std::function<bool()> stop = {});

}  // namespace hybridscope
