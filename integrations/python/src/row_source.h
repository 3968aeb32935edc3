// What a runner in another process tells of its steps: messages on a socket.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

class RowSource {
 public:
  // `listening`: a listening Unix socket, which stays its owner's; -1: there is none.
  explicit RowSource(int listening) : listening_(listening) {}
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  ~RowSource() { hang_up(); }

  // The next message: its length in 4 bytes, the lowest first, then its text. Waits for a client,
  // and for the message. Error io: the client or the socket is gone, or stop() was called and
  // nothing came for a second.
  Result<std::string> next();
  // From any thread.
  void stop() { stopping_ = true; }
  // The client learns that nobody reads. Not while next() runs.
  void hang_up();

 private:
  Status wait_for(int file) const;
  Status read(char* to, std::size_t size);

  int listening_;
  int client_ = -1;
  std::atomic<bool> stopping_ = false;
};

}  // namespace hybridscope
