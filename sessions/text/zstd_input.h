// Bytes that may be compressed: a zstd file is recognised by how it begins, whatever it is called.
#pragma once

#include <string>

#include "sessions/text/line_source.h"

namespace hybridscope {

// Reads from `read`; what is a zstd stream comes unpacked, anything else as it is. Several frames
// behind each other are one stream. Errors: those of `read`; corrupt, with `file`, for a damaged
// stream or one that is cut off.
LineSource::ReadBytes unpack_zstd(LineSource::ReadBytes read, std::string file);

}  // namespace hybridscope
