// Lines of a file one at a time, with a look ahead; none may be longer than kMaxJsonBytes.
#pragma once

#include <cstdint>
#include <deque>
#include <fstream>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

struct NumberedLine {
  std::int64_t number = 0;  // from 1
  std::string text;         // without its end
};

class LineReader {
 public:
  // Error io: the file cannot be opened or is a directory.
  static Result<LineReader> open(const std::string& path);

  // The next line that is not blank; empty at the end of the file.
  std::optional<NumberedLine> next();

  // Up to `count` lines that next() will return, without taking them.
  const std::deque<NumberedLine>& peek(std::size_t count);

  // Did reading end because of a fault of the disk, not at the end of the file?
  bool failed() const { return stream_.bad(); }

 private:
  explicit LineReader(std::ifstream stream) : stream_(std::move(stream)) {}
  std::optional<NumberedLine> read();

  std::ifstream stream_;
  std::string chunk_;  // read, not yet split, from used_ on
  std::size_t used_ = 0;
  std::int64_t number_ = 0;
  bool too_long_ = false;  // nothing is read behind a line that is too long
  std::deque<NumberedLine> ahead_;
};

}  // namespace hybridscope
