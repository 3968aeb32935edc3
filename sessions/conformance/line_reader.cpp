#include "sessions/conformance/line_reader.h"

#include <fmt/core.h>

#include <span>
#include <utility>

#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

Error too_long() {
  return {ErrorKind::corrupt,
          fmt::format("more than {} bytes, unpacked; nothing behind them was read",
                      kMaxVectorFileBytes)};
}

}  // namespace

Result<LineReader> LineReader::open(const std::string& path, std::function<bool()> stop) {
  auto read = open_input_file(path, std::move(stop));
  if (!read.ok()) return read.error();
  return LineReader(std::move(read).value());
}

std::optional<NumberedLine> LineReader::read() {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  while (!ended_) {
    std::string text;
    for (std::size_t end = std::string::npos; end == std::string::npos;) {
      end = chunk_.find('\n', used_);
      text.append(chunk_, used_, end == std::string::npos ? end : end - used_);
      used_ = end == std::string::npos ? chunk_.size() : end + 1;
      ended_ = text.size() > kMaxJsonBytes;
      if (end != std::string::npos || ended_) break;
      chunk_.resize(kChunkBytes);
      const Result<std::size_t> count = read_(std::span(chunk_));
      chunk_.resize(count.ok() ? count.value() : 0);
      used_ = 0;
      num_bytes_ += chunk_.size();
      if (!count.ok() || num_bytes_ > kMaxVectorFileBytes) {
        ended_ = true;
        fault_ = Fault{.line = number_ + 1, .error = count.ok() ? too_long() : count.error()};
        return std::nullopt;
      }
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
  bytes_ahead_ -= line.text.size();
  return line;
}

const std::deque<NumberedLine>& LineReader::peek(std::size_t count) {
  while (ahead_.size() < count && bytes_ahead_ <= kMaxJsonBytes) {
    std::optional<NumberedLine> line = read();
    if (!line) break;
    bytes_ahead_ += line->text.size();
    ahead_.push_back(*std::move(line));
  }
  return ahead_;
}

}  // namespace hybridscope
