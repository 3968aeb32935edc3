#include "integrations/python/src/row_source.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace hybridscope {
namespace {

constexpr int kSliceMs = 100;
constexpr int kPatienceSlices = 10;
constexpr std::uint32_t kMaxBytes = 256U << 20U;

Error gone(const char* reason) {
  return {ErrorKind::io, std::string("the runner's process tells no more rows: ") + reason};
}

}  // namespace

void RowSource::hang_up() {
  if (client_ >= 0) ::close(client_);
  client_ = -1;
}

Status RowSource::wait_for(int file) const {
  for (int left = kPatienceSlices; left > 0;) {
    pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kSliceMs);
    if (ready > 0) return Ok{};
    if (ready < 0 && errno != EINTR) return gone(std::strerror(errno));
    if (stopping_) --left;
  }
  return gone("the recording has ended");
}

Result<std::string> RowSource::next() {
  while (client_ < 0) {
    if (Status ready = wait_for(listening_); !ready.ok()) return ready.error();
    client_ = ::accept(listening_, nullptr, nullptr);
    if (client_ < 0 && errno != EINTR) return gone(std::strerror(errno));
  }
  std::array<char, 4> prefix{};
  if (Status read_all = read(prefix.data(), prefix.size()); !read_all.ok()) return read_all.error();
  std::uint32_t size = 0;
  for (std::size_t i = prefix.size(); i-- > 0;)
    size = size << 8U | static_cast<unsigned char>(prefix[i]);
  if (size > kMaxBytes) return gone("a message is longer than 256 MiB");
  std::string text(size, '\0');
  if (Status read_all = read(text.data(), text.size()); !read_all.ok()) return read_all.error();
  return text;
}

Status RowSource::read(char* to, std::size_t size) {
  while (size > 0) {
    if (Status ready = wait_for(client_); !ready.ok()) return ready;
    const ssize_t count = ::recv(client_, to, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return gone("it has ended");
    if (count < 0) return gone(std::strerror(errno));
    to += count;
    size -= static_cast<std::size_t>(count);
  }
  return Ok{};
}

}  // namespace hybridscope
