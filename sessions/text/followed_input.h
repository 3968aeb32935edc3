// Reads a trace while an engine writes it.
#pragma once

#include <functional>
#include <string>

#include "sessions/text/input_file.h"

namespace hybridscope {

// `place`: a file, which may not exist yet and is read on as it grows, or "unix:PATH", a socket
// that somebody listens on, or will. Both are waited for, and so is each byte: 0 is returned when
// `stop` says so, and when a socket is closed. A file that became shorter is read from its
// beginning. Errors: io, with the reason.
ReadBytes follow_input(std::string place, std::function<bool()> stop);

}  // namespace hybridscope
