#include "sessions/text/input_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

// The first bytes of a frame, little-endian (ZSTD_MAGICNUMBER).
constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";
constexpr int kInputPollMilliseconds = 100;
constexpr const char* kWhole = "a whole file, as zstd wrote it";

class ZstdInput {
 public:
  ZstdInput(ReadBytes read, std::function<bool()> stop)
      : read_(std::move(read)), stop_(std::move(stop)), packed_(ZSTD_DStreamInSize()) {}

  Result<std::size_t> operator()(std::span<char> bytes) {
    if (!recognised_) {
      if (Status begun = recognise(); !begun.ok()) return begun.error();
    }
    return stream_ ? unpack(bytes) : pass_on(bytes);
  }

 private:
  // Reads until it is clear whether this is a zstd stream; if the first byte is not '(', that one
  // is enough.
  Status recognise() {
    while (end_ < kMagic.size() &&
           std::equal(packed_.begin(), packed_.begin() + static_cast<std::ptrdiff_t>(end_),
                      kMagic.begin())) {
      const auto count = read_(std::span(packed_).subspan(end_));
      if (!count.ok()) return count.error();
      has_ended_ = count.value() == 0;
      if (has_ended_) break;
      end_ += count.value();
    }
    recognised_ = true;
    // At the end of a file two of the four bytes are enough: it is a truncated stream, not text.
    const std::size_t known = std::min(end_, kMagic.size());
    if (known >= 2 && std::memcmp(packed_.data(), kMagic.data(), known) == 0)
      stream_.reset(ZSTD_createDStream());
    return Ok{};
  }

  Result<std::size_t> pass_on(std::span<char> bytes) {
    // To be told of the end again a terminal would need a second Ctrl-D.
    if (begin_ == end_) return std::exchange(has_ended_, false) ? std::size_t{0} : read_(bytes);
    const std::size_t count = std::min(bytes.size(), end_ - begin_);
    std::memcpy(bytes.data(), packed_.data() + begin_, count);
    begin_ += count;
    return count;
  }

  Result<std::size_t> unpack(std::span<char> bytes) {
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    while (out.pos == 0) {
      // A few packed bytes may hold gigabytes, for which nothing is read.
      if (stop_ && stop_()) return std::size_t{0};
      if (!stop_ && stop_requested()) return interrupted_reading();
      ZSTD_inBuffer in{packed_.data(), end_, begin_};
      const std::size_t hint = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(hint) != 0)
        return Error{ErrorKind::corrupt, fmt::format("damaged zstd stream: {} (expected {})",
                                                     ZSTD_getErrorName(hint), kWhole)};
      const bool moved = in.pos > begin_ || out.pos > 0;
      begin_ = in.pos;
      if (moved) in_frame_ = hint != 0;
      if (out.pos > 0 || begin_ < end_) continue;
      const auto count = read_(std::span(packed_));
      if (!count.ok()) return count.error();
      if (count.value() == 0) return at_end();
      begin_ = 0;
      end_ = count.value();
    }
    return out.pos;
  }

  Result<std::size_t> at_end() const {
    if (!in_frame_) return std::size_t{0};
    return Error{
        ErrorKind::corrupt,
        fmt::format("the zstd stream is cut off in the middle of a frame (expected {})", kWhole)};
  }

  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  ReadBytes read_;
  std::function<bool()> stop_;  // empty: stop_requested
  std::vector<char> packed_;
  std::size_t begin_ = 0;  // of the bytes not used yet
  std::size_t end_ = 0;
  bool recognised_ = false;
  bool has_ended_ = false;  // recognise() read to the end, which nobody was told yet
  bool in_frame_ = false;
  std::unique_ptr<ZSTD_DStream, Free> stream_;  // null: not compressed
};

bool has_bytes(int descriptor, int milliseconds = 0) {
  pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, milliseconds) > 0;
}

// False: `stop` holds.
bool wait_for_bytes(int descriptor, const std::function<bool()>& stop) {
  while (!stop())
    if (has_bytes(descriptor, kInputPollMilliseconds)) return true;
  return false;
}

// One read(2): returns what a pipe has now instead of waiting until the buffer is full.
ReadBytes read_from(int descriptor, std::function<bool()> stop,
                    std::shared_ptr<std::FILE> owner = nullptr) {
  return [descriptor, stop = std::move(stop),
          owner = std::move(owner)](std::span<char> bytes) -> Result<std::size_t> {
    for (;;) {
      if (stop && !wait_for_bytes(descriptor, stop)) return std::size_t{0};
      if (!stop && !wait_for_bytes(descriptor, stop_requested)) return interrupted_reading();
      const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR && errno != EAGAIN)
        return Error{ErrorKind::io, fmt::format("cannot be read: {}", std::strerror(errno))};
    }
  };
}

Result<std::shared_ptr<std::FILE>> open_to_read(const std::string& path) {
  if (Status no_directory = check_no_directory(path); !no_directory.ok())
    return no_directory.error();
  // Not waiting in the system for somebody who writes into a named pipe: reading waits for them.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Error{ErrorKind::io,
                 fmt::format("{}: cannot be opened: {}", path, std::strerror(errno))};
  return std::shared_ptr<std::FILE>(::fdopen(descriptor, "rb"),
                                    [](std::FILE* f) { return f ? std::fclose(f) : 0; });
}

}  // namespace

ReadBytes unpack_zstd(ReadBytes read, std::function<bool()> stop) {
  const auto input = std::make_shared<ZstdInput>(std::move(read), std::move(stop));
  return [input](std::span<char> bytes) { return (*input)(bytes); };
}

Result<ReadBytes> open_plain_file(const std::string& path, std::function<bool()> stop) {
  const auto file = open_to_read(path);
  if (!file.ok()) return file.error();
  return read_from(::fileno(file.value().get()), std::move(stop), file.value());
}

Result<ReadBytes> open_input_file(const std::string& path, std::function<bool()> stop) {
  auto read = open_plain_file(path, stop);
  if (!read.ok()) return read.error();
  return unpack_zstd(std::move(read).value(), std::move(stop));
}

ReadBytes read_standard_input(std::function<bool()> stop) {
  ReadBytes read = read_from(STDIN_FILENO, stop);
  return unpack_zstd(std::move(read), std::move(stop));
}

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

namespace {

// Global, because what it asks is: a signal handler can reach nothing else.
std::atomic<bool (*)()> stop_asked = nullptr;

}  // namespace

void stop_waiting_when(bool (*asked)()) { stop_asked = asked; }

bool stop_requested() {
  bool (*const asked)() = stop_asked;
  return asked != nullptr && asked();
}

Error interrupted_reading() { return {ErrorKind::not_available, "interrupted while it was read"}; }

}  // namespace hybridscope
