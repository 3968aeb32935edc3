// Bytes that may be compressed: a zstd file is recognised by how it begins, whatever it is called.
#pragma once

#include "sessions/text/input_file.h"

namespace hybridscope {

// Reads from `read`; what is a zstd stream comes unpacked, as much at a time as is asked for,
// anything else as it is. Several frames behind each other are one stream. Errors: those of `read`;
// corrupt for a damaged stream or one that is cut off.
ReadBytes unpack_zstd(ReadBytes read);

}  // namespace hybridscope
