// Standard output and standard error show text and nothing else: whatever a command prints, a
// control character in it (of a name, a path, a file) reaches the terminal as escape_controls()
// shows it. JSON keeps its meaning.
#pragma once

namespace hybridscope {

// From now on `stdout` and `stderr` are such streams; std::cout and std::cerr are not. Each call
// site still decides what a line end in foreign text does (one_line).
void make_streams_safe();

// Flushes both; writes what may have been the beginning of a character. Returns the system's error
// number of the first failure to write standard output, 0: none.
int finish_streams();

// Erases the last line of the terminal that stderr is. Requires: it is one.
void erase_line();

}  // namespace hybridscope
