#include "sessions/text/followed_input.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

namespace hybridscope {
namespace {

constexpr std::chrono::milliseconds kPause(20);
constexpr int kPollMilliseconds = 100;
constexpr std::string_view kSocketPrefix = "unix:";

Error failure(std::string_view what) {
  return {ErrorKind::io, fmt::format("{}: {}", what, std::strerror(errno))};
}

class Followed {
 public:
  Followed(std::string place, std::function<bool()> stop) : stop_(std::move(stop)) {
    is_socket_ = place.starts_with(kSocketPrefix);
    path_ = is_socket_ ? place.substr(kSocketPrefix.size()) : std::move(place);
  }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  ~Followed() { close(); }

  Result<std::size_t> read(std::span<char> bytes) {
    while (!stop_()) {
      if (descriptor_ < 0) {
        const auto opened = is_socket_ ? connect() : open();
        if (!opened.ok()) return opened.error();
        if (!opened.value()) {
          std::this_thread::sleep_for(kPause);
          continue;
        }
      }
      if (is_socket_ && !has_bytes()) continue;
      const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failure("cannot be read");
      position_ += count;
      if (count > 0 || is_socket_) return static_cast<std::size_t>(count);
      if (was_cut()) close();
      std::this_thread::sleep_for(kPause);
    }
    return std::size_t{0};
  }

 private:
  // False: it does not exist yet.
  Result<bool> open() {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0 && errno != ENOENT) return failure("cannot be opened");
    position_ = 0;
    return descriptor_ >= 0;
  }

  // False: nobody listens yet.
  Result<bool> connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path))
      return Error{ErrorKind::io, fmt::format("a socket's path has at most {} bytes, found {}",
                                              sizeof(address.sun_path) - 1, path_.size())};
    std::memcpy(address.sun_path, path_.data(), path_.size());
    descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return failure("a socket cannot be made");
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      return true;
    const bool waits = errno == ENOENT || errno == ECONNREFUSED;
    const Error error = failure("cannot be connected to");
    close();
    if (!waits) return error;
    return false;
  }

  bool has_bytes() const {
    pollfd poll{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, kPollMilliseconds) > 0;
  }

  bool was_cut() const {
    struct stat now {};
    return ::fstat(descriptor_, &now) == 0 && now.st_size < position_;
  }

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  std::string path_;
  bool is_socket_ = false;
  std::function<bool()> stop_;
  int descriptor_ = -1;
  std::int64_t position_ = 0;
};

}  // namespace

ReadBytes follow_input(std::string place, std::function<bool()> stop) {
  const auto followed = std::make_shared<Followed>(std::move(place), std::move(stop));
  return [followed](std::span<char> bytes) { return followed->read(bytes); };
}

}  // namespace hybridscope
