// Lines of a file one at a time, with a look ahead; none may be longer than kMaxJsonBytes. A zstd
// file is unpacked while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

struct NumberedLine {
  std::int64_t number = 0;  // from 1
  std::string text;         // without its end
};

class LineReader {
 public:
  // What kept the line of this number from being read.
  struct Fault {
    std::int64_t line = 0;
    Error error;  // without file and line
  };

  // Error io: the file cannot be opened or is a directory.
  static Result<LineReader> open(const std::string& path);

  // The next line that is not blank; empty at the end of the file, and where it cannot be read on.
  std::optional<NumberedLine> next();

  // Up to `count` lines that next() will return, without taking them; fewer where they are more
  // than kMaxJsonBytes, which is what one line may cost.
  const std::deque<NumberedLine>& peek(std::size_t count);

  // Set where reading ended before the end of the file: a fault of the disk, a damaged zstd stream.
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  explicit LineReader(ReadBytes read) : read_(std::move(read)) {}
  std::optional<NumberedLine> read();

  ReadBytes read_;
  std::string chunk_;  // read, not yet split, from used_ on
  std::size_t used_ = 0;
  std::int64_t number_ = 0;
  bool ended_ = false;  // nothing is read behind a line that is too long or cannot be read
  std::optional<Fault> fault_;
  std::deque<NumberedLine> ahead_;
  std::size_t bytes_ahead_ = 0;
};

}  // namespace hybridscope
