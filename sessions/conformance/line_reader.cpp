#include "sessions/conformance/line_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sessions/text/json_reader.h"

namespace hybridscope {

Result<LineReader> LineReader::open(const std::string& path) {
  if (Status file = check_no_directory(path); !file.ok()) return file.error();
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return Error{ErrorKind::io, fmt::format("{}: cannot be opened: {}", path, strerror(errno))};
  return LineReader(std::move(stream));
}

std::optional<NumberedLine> LineReader::read() {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  while (!too_long_) {
    std::string text;
    for (std::size_t end = std::string::npos; end == std::string::npos;) {
      end = chunk_.find('\n', used_);
      text.append(chunk_, used_, end == std::string::npos ? end : end - used_);
      used_ = end == std::string::npos ? chunk_.size() : end + 1;
      too_long_ = text.size() > kMaxJsonBytes;
      if (end != std::string::npos || too_long_) break;
      chunk_.resize(kChunkBytes);
      stream_.read(chunk_.data(), static_cast<std::streamsize>(kChunkBytes));
      chunk_.resize(static_cast<std::size_t>(stream_.gcount()));
      used_ = 0;
      if (!chunk_.empty()) continue;
      if (text.empty()) return std::nullopt;
      break;
    }
    ++number_;
    if (text.find_first_not_of(" \t\r") != std::string::npos)
      return NumberedLine{.number = number_, .text = std::move(text)};
  }
  return std::nullopt;
}

std::optional<NumberedLine> LineReader::next() {
  if (ahead_.empty()) return read();
  NumberedLine line = std::move(ahead_.front());
  ahead_.pop_front();
  return line;
}

const std::deque<NumberedLine>& LineReader::peek(std::size_t count) {
  while (ahead_.size() < count) {
    std::optional<NumberedLine> line = read();
    if (!line) break;
    ahead_.push_back(*std::move(line));
  }
  return ahead_;
}

}  // namespace hybridscope
