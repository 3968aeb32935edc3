#include "sessions/text/write_bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "sessions/text/stop_request.h"

namespace hybridscope {
namespace {

constexpr int kOutputPollMilliseconds = 100;
// A reader that only is slow still gets what a command tells when it is asked to stop.
constexpr int kLastWaitMilliseconds = 1000;
constexpr int kOpenMilliseconds = 20;

bool is_regular(int descriptor) {
  struct stat file {};
  return ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode);
}

// False: the program was asked to stop and the reader takes nothing.
bool wait_until_taken(int descriptor) {
  pollfd output{.fd = descriptor, .events = POLLOUT, .revents = 0};
  for (;;) {
    const bool last = stop_requested();
    if (::poll(&output, 1, last ? kLastWaitMilliseconds : kOutputPollMilliseconds) > 0) return true;
    if (last) return false;
  }
}

}  // namespace

int open_to_write(const std::string& path) {
  // O_NONBLOCK fails with ENXIO while nobody reads a pipe, instead of waiting in the system.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
  int waited = 0;  // milliseconds since the program was asked to stop
  for (;;) {
    const int descriptor = ::open(path.c_str(), kFlags, 0666);
    struct stat named {};
    const bool waits = descriptor < 0 && errno == ENXIO && ::stat(path.c_str(), &named) == 0 &&
                       S_ISFIFO(named.st_mode);
    if (descriptor < 0 && !waits && errno != EINTR) return -1;
    if (descriptor >= 0) return descriptor;
    if (waited >= kLastWaitMilliseconds) {
      errno = EINTR;
      return -1;
    }
    if (stop_requested()) waited += kOpenMilliseconds;
    ::poll(nullptr, 0, kOpenMilliseconds);
  }
}

int write_bytes(int descriptor, std::string_view bytes) {
  // A pipe that is ready takes at least PIPE_BUF bytes at once; more could wait in the system.
  const std::size_t at_once = is_regular(descriptor) ? SSIZE_MAX : PIPE_BUF;
  while (!bytes.empty()) {
    if (at_once == PIPE_BUF && !wait_until_taken(descriptor)) return EINTR;
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), at_once));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string write_error_words(int error) {
  return error == EINTR ? "interrupted" : std::strerror(error);
}

}  // namespace hybridscope
