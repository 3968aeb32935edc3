#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "sessions/text/command_files.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

Error cannot(std::string_view what, const std::string& path, const std::string& why) {
  return Error{ErrorKind::not_available, fmt::format("{} {}: {}", path, what, why)};
}

}  // namespace

std::vector<std::string_view> WholeLines::lines() const {
  std::vector<std::string_view> lines;
  for (std::string_view rest = std::string_view(text).substr(0, num_bytes); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

Result<WholeLines> read_whole_lines(const std::string& file) {
  auto text = read_text_file(file);
  if (!text.ok()) return text.error();
  if (text.value().size() > kMaxJsonBytes)
    return Error{ErrorKind::corrupt, fmt::format("{}: more than {} bytes", file, kMaxJsonBytes)};
  const std::size_t last = text.value().rfind('\n');
  const std::size_t num_bytes = last == std::string::npos ? 0 : last + 1;
  return WholeLines{.text = std::move(text).value(), .num_bytes = num_bytes};
}

LineFile::LineFile(std::string file, Stream stream)
    : file_(std::move(file)), stream_(std::move(stream)) {
  std::error_code code;
  num_bytes_ = std::filesystem::file_size(file_, code);
}

Result<LineFile> LineFile::open(const std::string& file) {
  Stream stream(std::fopen(file.c_str(), "ab"));
  if (!stream) return cannot("cannot be written", file, std::generic_category().message(errno));
  if (::flock(::fileno(stream.get()), LOCK_EX | LOCK_NB) == 0)
    return LineFile(file, std::move(stream));
  const int reason = errno;
  if (reason == EWOULDBLOCK) return cannot("cannot be written", file, "another hybridscope does");
  return cannot("cannot be locked", file, std::generic_category().message(reason));
}

Status LineFile::cut(std::size_t num_bytes) {
  if (::ftruncate(::fileno(stream_.get()), static_cast<off_t>(num_bytes)) != 0)
    return cannot("cannot be written", file_, std::generic_category().message(errno));
  num_bytes_ = num_bytes;
  return Ok{};
}

Status LineFile::append(std::string_view line) {
  if (failure_) return *failure_;
  const int descriptor = ::fileno(stream_.get());
  was_replaced_ = !names_open_file(file_, descriptor);
  if (was_replaced_) {
    failure_ = cannot("was removed or replaced", file_, "what is added now would be lost");
    return *failure_;
  }
  const std::string text = std::string(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) == text.size() &&
      std::fflush(stream_.get()) == 0) {
    num_bytes_ += text.size();
    return Ok{};
  }
  failure_ = cannot("cannot be written", file_, std::generic_category().message(errno));
  const int kept = ::dup(descriptor);
  stream_.reset();  // its buffer may hold the rest of the line
  if (kept >= 0) {
    // Failing leaves the beginning of a line, which reading takes for what a crash left.
    (void)!::ftruncate(kept, static_cast<off_t>(num_bytes_));
    ::close(kept);
  }
  return *failure_;
}

namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kShortPause(20);
constexpr Milliseconds kLongPause(500);
constexpr int kPollMilliseconds = 100;
constexpr std::string_view kSocketPrefix = "unix:";

Error failure(std::string_view what) {
  return {ErrorKind::io, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

FollowedInput::FollowedInput(std::string place, std::function<bool()> stop)
    : place_(std::move(place)),
      path_(place_.starts_with(kSocketPrefix) ? place_.substr(kSocketPrefix.size()) : place_),
      is_socket_(place_.starts_with(kSocketPrefix)),
      stop_(std::move(stop)) {}

FollowedInput::~FollowedInput() { close(); }

void FollowedInput::take_descriptor(int descriptor) {
  const std::lock_guard lock(mutex_);
  descriptor_ = descriptor;
  position_ = 0;
}

// False: it does not exist yet.
Result<bool> FollowedInput::open_file() {
  // A pipe is opened before somebody writes to it.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno != ENOENT) return failure("cannot be opened");
  take_descriptor(descriptor);
  return descriptor >= 0;
}

// False: nobody listens yet.
Result<bool> FollowedInput::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path))
    return Error{ErrorKind::io, fmt::format("a socket's path has at most {} bytes, found {}",
                                            sizeof(address.sun_path) - 1, path_.size())};
  std::memcpy(address.sun_path, path_.data(), path_.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return failure("a socket cannot be made");
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    take_descriptor(descriptor);
    return true;
  }
  const bool waits = errno == ENOENT || errno == ECONNREFUSED;
  const Error error = failure("cannot be connected to");
  ::close(descriptor);
  if (!waits) return error;
  return false;
}

// Tries the place once, after the pause that is due; pauses grow up to kLongPause.
Result<bool> FollowedInput::reach() {
  const auto due = std::chrono::steady_clock::now() + pause_;
  while (std::chrono::steady_clock::now() < due) {
    if (stop_()) return false;
    std::this_thread::sleep_for(std::min(pause_, kShortPause));
  }
  pause_ = std::clamp(2 * pause_, kShortPause, kLongPause);
  return is_socket_ ? connect() : open_file();
}

bool FollowedInput::has_bytes() const {
  pollfd poll{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, kPollMilliseconds) > 0;
}

// Does the path name a file that is shorter than what was read, or another file?
bool FollowedInput::was_replaced() const {
  struct stat opened {};
  if (::fstat(descriptor_, &opened) != 0) return false;
  if (S_ISREG(opened.st_mode) && opened.st_size < position_) return true;
  struct stat named {};
  return ::stat(path_.c_str(), &named) == 0 &&
         (named.st_ino != opened.st_ino || named.st_dev != opened.st_dev);
}

Result<std::size_t> FollowedInput::read(std::span<char> bytes) {
  while (!stop_()) {
    if (descriptor_ < 0) {
      const auto reached = reach();
      if (!reached.ok()) return reached.error();
      if (!reached.value()) continue;
    }
    if (!has_bytes()) continue;
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const bool was_reset = count < 0 && is_socket_ && errno == ECONNRESET;
    if (count < 0 && !was_reset) return failure("cannot be read");
    if (count > 0) {
      const std::lock_guard lock(mutex_);
      position_ += count;
      pause_ = Milliseconds(0);
      return static_cast<std::size_t>(count);
    }
    if (is_socket_ || was_replaced()) {
      close();
      pause_ = std::max(pause_, kShortPause);
      return std::size_t{0};
    }
    std::this_thread::sleep_for(kShortPause);
  }
  return std::size_t{0};
}

void FollowedInput::close() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool FollowedInput::is_open() const {
  const std::lock_guard lock(mutex_);
  return descriptor_ >= 0;
}

std::int64_t FollowedInput::bytes_waiting() const {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return 0;
  if (is_socket_) {
    int count = 0;
    return ::ioctl(descriptor_, FIONREAD, &count) == 0 ? count : 0;
  }
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) return 0;
  return std::max<std::int64_t>(now.st_size - position_, 0);
}

Status FollowedInput::send(std::string_view line) {
  if (!is_socket_)
    return Error{ErrorKind::invalid_input,
                 fmt::format("{} is a file: an engine is reached through unix:PATH only", path_)};
  const std::string bytes = std::string(line) + "\n";
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0)
    return Error{ErrorKind::not_available, fmt::format("{}: not connected", place_)};
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return Ok{};
  return Error{ErrorKind::not_available,
               fmt::format("{}: the engine does not take \"{}\": {}", place_, line,
                           sent < 0 ? std::strerror(errno) : "its socket is full")};
}

}  // namespace hybridscope
