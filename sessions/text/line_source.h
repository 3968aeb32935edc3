// Lines of a file or of standard input, one at a time, without copying them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// Bytes that the parser may read, but does not look at, behind the end of a line.
inline constexpr std::size_t kLinePadding = 64;

// A line without its newline, with kLinePadding readable bytes behind it.
struct PaddedLine {
  std::string_view text;
};

inline constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;

class LineSource {
 public:
  // `file` is for messages. Bytes come as `read` has them, so that a line from a pipe is there as
  // soon as its newline is.
  LineSource(std::string file, ReadBytes read, std::size_t max_line_bytes = kMaxLineBytes);

  // "-" is standard input. A zstd file is unpacked while it is read. Error io: the file cannot be
  // opened.
  static Result<LineSource> open(const std::string& path);

  // The next line without its newline, valid until the next call; empty at the end. The last line
  // may lack its newline. Errors "FILE:LINE: ...": io, the file cannot be read; corrupt, a damaged
  // zstd stream or a line above the limit.
  Result<std::optional<PaddedLine>> next();

  // Of the line that next() gave last, from 1.
  std::int64_t line_number() const { return line_number_; }
  // How much of the (unpacked) file the lines so far were, newlines included.
  std::int64_t bytes_taken() const { return bytes_taken_; }

 private:
  PaddedLine take(std::size_t length, std::size_t newline);
  Status fill();

  std::string file_;
  ReadBytes read_;
  std::size_t max_line_bytes_;
  std::vector<char> buffer_;  // kLinePadding bytes at its end stay free
  std::size_t begin_ = 0;     // of what no line has taken yet
  std::size_t end_ = 0;
  std::int64_t line_number_ = 0;
  std::int64_t bytes_taken_ = 0;
};

}  // namespace hybridscope
