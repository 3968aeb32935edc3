#include "sessions/text/line_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hybridscope {
namespace {

constexpr std::size_t kFirstBufferBytes = std::size_t{1} << 20;

}  // namespace

LineSource::LineSource(std::string file, ReadBytes read, std::size_t max_line_bytes)
    : file_(std::move(file)), read_(std::move(read)), max_line_bytes_(max_line_bytes) {
  buffer_.resize(kFirstBufferBytes + kLinePadding);
}

Result<LineSource> LineSource::open(const std::string& path, std::function<bool()> stop) {
  if (path == "-") return LineSource("<stdin>", read_standard_input(std::move(stop)));
  auto read = open_input_file(path, std::move(stop));
  if (!read.ok()) return read.error();
  return LineSource(path, std::move(read).value());
}

Result<std::optional<PaddedLine>> LineSource::next() {
  std::size_t searched = 0;
  while (true) {
    const char* from = buffer_.data() + begin_;
    const void* newline = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    const std::size_t length =
        newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - from)
                : end_ - begin_;
    if (length > max_line_bytes_)
      return Error{ErrorKind::corrupt, fmt::format("{}:{}: a line of more than {} bytes", file_,
                                                   line_number_ + 1, max_line_bytes_)};
    if (newline) return std::optional(take(length, 1));
    searched = length;
    const std::size_t end_before = end_ - begin_;
    if (Status filled = fill(); !filled.ok()) return filled.error();
    if (end_ - begin_ > end_before) continue;
    if (length == 0) return std::optional<PaddedLine>();
    return std::optional(take(length, 0));
  }
}

PaddedLine LineSource::take(std::size_t length, std::size_t newline) {
  const PaddedLine line{std::string_view(buffer_.data() + begin_, length)};
  begin_ += length + newline;
  bytes_taken_ += static_cast<std::int64_t>(length + newline);
  ++line_number_;
  lines_waiting_ -= static_cast<std::int64_t>(newline);
  ended_with_newline_ = newline > 0;
  return line;
}

// Reads more bytes after end_; at the end of the file none. The incomplete line is moved to the
// front first; if it fills the buffer, the buffer is doubled.
Status LineSource::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + kLinePadding == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t room = buffer_.size() - kLinePadding - end_;
  const Result<std::size_t> count = read_(std::span(buffer_).subspan(end_, room));
  if (!count.ok())
    return Error{count.error().kind,
                 fmt::format("{}:{}: {}", file_, line_number_ + 1, count.error().message)};
  HS_EXPECT(count.value() <= room);
  const char* const read = buffer_.data() + end_;
  lines_waiting_ += std::count(read, read + count.value(), '\n');
  end_ += count.value();
  return Ok{};
}

}  // namespace hybridscope
