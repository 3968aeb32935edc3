// Writes to files, pipes and devices; a reader that takes nothing holds the program only until it
// is asked to stop (stop_request.h).
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// Opens for writing what `path` names, made or emptied. Waits for somebody who reads a named pipe.
// -1: errno says why; EINTR: the program was asked to stop.
int open_to_write(const std::string& path);

// Writes all of `bytes`. Returns 0 or the system's error number. EINTR: the program was asked to
// stop, and the other end of a pipe has taken nothing for a second since.
int write_bytes(int descriptor, std::string_view bytes);

// "No space left on device"; for EINTR "interrupted".
std::string write_error_words(int error);

}  // namespace hybridscope
