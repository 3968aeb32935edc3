// Reads files or standard input: bytes piece by piece, unpacked if they are compressed, or lines
// one at a time, until somebody asks the program to stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// Fills the beginning of the span, which is never empty, and returns the number of bytes; 0: the
// end. Errors do not name the file: the caller knows file and line.
using ReadBytes = std::function<Result<std::size_t>(std::span<char>)>;

// Error io, with the path: a directory, or a file that cannot be opened. Ends too when `stop`
// holds, also while there is nothing to read, as in a named pipe without a writer. With an empty
// `stop` reading fails with not_available when the program was asked to stop.
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

// Reads lines one at a time, without copying them.

// Bytes after the end of a line that must be readable for the parser.
inline constexpr std::size_t kLinePadding = 64;

// A line without its newline, followed by kLinePadding readable bytes.
struct PaddedLine {
  std::string_view text;
};

// Parsed, a line takes up to twelve times its size in memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

class LineSource {
 public:
  // `file` is for messages. Bytes are used as soon as `read` returns them, so a line from a pipe is
  // available as soon as its newline is.
  LineSource(std::string file, ReadBytes read, std::size_t max_line_bytes = kMaxLineBytes);

  // "-" is standard input. A zstd file is unpacked on the way. Ends too when `stop` holds while
  // there is nothing to read. Error io: the file cannot be opened.
  static Result<LineSource> open(const std::string& path, std::function<bool()> stop = {});

  // The next line without its newline, valid until the next call; empty at the end. The last line
  // may lack its newline. Errors "FILE:LINE: ...": io, the file cannot be read; corrupt, a damaged
  // zstd stream or a line longer than the limit.
  Result<std::optional<PaddedLine>> next();

  // The number of the last line, counted from 1.
  std::int64_t line_number() const { return line_number_; }
  // The size of all lines so far, newlines included, in the unpacked file.
  std::int64_t bytes_taken() const { return bytes_taken_; }
  // Did the last line end with a newline? False: it was the last one and may be incomplete.
  bool ended_with_newline() const { return ended_with_newline_; }
  // Complete lines that were read and not taken yet.
  std::int64_t lines_waiting() const { return lines_waiting_; }

 private:
  PaddedLine take(std::size_t length, std::size_t newline);
  Status fill();

  std::string file_;
  ReadBytes read_;
  std::size_t max_line_bytes_;
  std::vector<char> buffer_;  // the last kLinePadding bytes stay free
  std::size_t begin_ = 0;     // first byte that is in no line yet
  std::size_t end_ = 0;
  std::int64_t line_number_ = 0;
  std::int64_t bytes_taken_ = 0;
  std::int64_t lines_waiting_ = 0;
  bool ended_with_newline_ = false;
};

// Whether the program was asked to stop, for what waits for somebody at the other end of a pipe.

// From now on stop_requested() asks `asked`, from any thread. Without this call nobody asks the
// program to stop.
void stop_waiting_when(bool (*asked)());
bool stop_requested();

// Error not_available, of who reads: the caller knows file and line.
Error interrupted_reading();

}  // namespace hybridscope
