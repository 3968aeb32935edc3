// The engine's end of `--follow unix:PATH` and `--attach unix:PATH`: a socket that listens, takes
// one client at a time, and sends what a test wants it to send.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hybridscope::test {

class EngineSocket {
 public:
  explicit EngineSocket(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    listening_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listening_, 1) != 0)
      throw std::runtime_error("no socket at " + path_);
  }
  ~EngineSocket() {
    hang_up();
    ::close(listening_);
    ::unlink(path_.c_str());
  }
  EngineSocket(const EngineSocket&) = delete;
  EngineSocket& operator=(const EngineSocket&) = delete;

  // Waits for a client, at most ten seconds.
  void take_client() {
    wait_for(listening_);
    client_ = ::accept(listening_, nullptr, nullptr);
    if (client_ < 0) throw std::runtime_error("no client at " + path_);
  }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(client_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the client is gone");
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // The next line that the client sends, without its newline; waits at most ten seconds.
  std::string receive() {
    while (received_.find('\n') == std::string::npos) {
      wait_for(client_);
      char bytes[256];
      const ssize_t count = ::read(client_, bytes, sizeof(bytes));
      if (count <= 0) throw std::runtime_error("the client is gone");
      received_.append(bytes, static_cast<std::size_t>(count));
    }
    const std::size_t end = received_.find('\n');
    const std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }
  void hang_up() {
    if (client_ >= 0) ::close(client_);
    client_ = -1;
    received_.clear();
  }

 private:
  static constexpr int kPatienceMs = 10'000;
  static void wait_for(int descriptor) {
    pollfd poll{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, kPatienceMs) <= 0) throw std::runtime_error("nothing comes");
  }

  std::string path_;
  int listening_ = -1;
  int client_ = -1;
  std::string received_;
};

}  // namespace hybridscope::test
