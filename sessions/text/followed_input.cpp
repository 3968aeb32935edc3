#include "sessions/text/followed_input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace hybridscope {
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
