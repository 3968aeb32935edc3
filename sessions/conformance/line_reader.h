// Reads a file line by line with a look-ahead; no line may be longer than kMaxJsonBytes. A zstd
// file is unpacked on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// The most bytes of a file, unpacked: a small compressed file may hold any number of blank lines.
inline constexpr std::uint64_t kMaxVectorFileBytes = std::uint64_t{16} << 30;

struct NumberedLine {
  std::int64_t number = 0;  // from 1
  std::string text;         // without the newline
};

class LineReader {
 public:
  // Why a line could not be read.
  struct Fault {
    std::int64_t line = 0;
    Error error;  // does not name file and line
  };

  // Ends too when `stop` holds. Error io: the file cannot be opened
  // or is a directory.
  static Result<LineReader> open(const std::string& path, std::function<bool()> stop = {});

  // The next line that is not blank; empty at the end of the file or after a read error.
  std::optional<NumberedLine> next();

  // The next `count` lines that next() will return, without consuming them; fewer when together
  // they exceed kMaxJsonBytes, the limit of one line.
  const std::deque<NumberedLine>& peek(std::size_t count);

  // Set when reading ended before the end of the file: a disk error, a damaged zstd stream, or more
  // than kMaxVectorFileBytes.
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  explicit LineReader(ReadBytes read) : read_(std::move(read)) {}
  std::optional<NumberedLine> read();

  ReadBytes read_;
  std::string chunk_;  // data read but not yet split into lines, from used_ on
  std::size_t used_ = 0;
  std::int64_t number_ = 0;
  std::uint64_t num_bytes_ = 0;
  bool ended_ = false;  // set at the end, at a line that is too long, and at a read error
  std::optional<Fault> fault_;
  std::deque<NumberedLine> ahead_;
  std::size_t bytes_ahead_ = 0;
};

}  // namespace hybridscope
