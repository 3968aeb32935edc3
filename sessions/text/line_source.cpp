#include "sessions/text/line_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/zstd_input.h"

namespace hybridscope {
namespace {

constexpr std::size_t kFirstBufferBytes = std::size_t{1} << 20;

// One read(2): answers with what a pipe has now instead of waiting for a full buffer.
LineSource::ReadBytes read_from(int descriptor, std::shared_ptr<std::FILE> owner,
                                const std::string& file) {
  return
      [descriptor, owner = std::move(owner), file](std::span<char> bytes) -> Result<std::size_t> {
        ssize_t count = -1;
        do count = ::read(descriptor, bytes.data(), bytes.size());
        while (count < 0 && errno == EINTR);
        if (count < 0)
          return Error{ErrorKind::io,
                       fmt::format("{}: cannot be read: {}", file, std::strerror(errno))};
        return static_cast<std::size_t>(count);
      };
}

}  // namespace

LineSource::LineSource(std::string file, ReadBytes read, std::size_t max_line_bytes)
    : file_(std::move(file)), read_(std::move(read)), max_line_bytes_(max_line_bytes) {
  buffer_.resize(kFirstBufferBytes + kLinePadding);
}

Result<LineSource> LineSource::open(const std::string& path) {
  if (path == "-") {
    const std::string name = "<stdin>";
    return LineSource(name, unpack_zstd(read_from(STDIN_FILENO, nullptr, name), name));
  }
  if (Status no_directory = check_no_directory(path); !no_directory.ok())
    return no_directory.error();
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"),
                                        [](std::FILE* f) { return f ? std::fclose(f) : 0; });
  if (!file)
    return Error{ErrorKind::io,
                 fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  return LineSource(path, unpack_zstd(read_from(::fileno(file.get()), file, path), path));
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
  return line;
}

// Reads more behind end_, or nothing at the end of the file. What is left of a line moves to the
// front once no whole line stands before it; a line that fills the buffer doubles it.
Status LineSource::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + kLinePadding == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t room = buffer_.size() - kLinePadding - end_;
  const Result<std::size_t> count = read_(std::span(buffer_).subspan(end_, room));
  if (!count.ok()) return count.error();
  HS_EXPECT(count.value() <= room);
  end_ += count.value();
  return Ok{};
}

}  // namespace hybridscope
