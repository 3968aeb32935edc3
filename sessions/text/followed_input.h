// Reads a trace while an engine writes it, from a file that grows or from a socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

class FollowedInput {
 public:
  // `place`: a file, which may not exist yet, or "unix:PATH", a socket that somebody listens on, or
  // will. `stop` is asked while waiting, several times a second.
  FollowedInput(std::string place, std::function<bool()> stop);
  FollowedInput(const FollowedInput&) = delete;
  FollowedInput& operator=(const FollowedInput&) = delete;
  ~FollowedInput();

  // Waits for the place, and for at least one byte. 0: the stream has ended, because `stop` says
  // so, the socket was closed, or the file became shorter or is another one. The next call waits
  // for the place again and reads from its beginning. Errors: io, with the reason.
  Result<std::size_t> read(std::span<char> bytes);
  // Ends the stream.
  void close();

  const std::string& place() const { return place_; }
  bool is_socket() const { return is_socket_; }

  // The functions below can be called from any thread.

  // Is a file open, or a socket connected?
  bool is_open() const;
  // Bytes that can be read at once; 0 if nothing is open.
  std::int64_t bytes_waiting() const;
  // Sends a line to the engine. Errors: invalid_input, a file cannot be written to; not_available,
  // nothing is connected, or the engine does not take it.
  Status send(std::string_view line);

 private:
  Result<bool> open_file();
  Result<bool> connect();
  Result<bool> reach();
  bool has_bytes() const;
  bool was_replaced() const;
  void take_descriptor(int descriptor);

  std::string place_;
  std::string path_;
  bool is_socket_ = false;
  std::function<bool()> stop_;
  std::chrono::milliseconds pause_{0};  // before the place is tried again
  mutable std::mutex mutex_;            // guards what follows; only read() and close() change it
  int descriptor_ = -1;
  std::int64_t position_ = 0;
};

}  // namespace hybridscope
