// What a runner in another process tells of its steps: messages on a socket.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hybridscope {

class RowSource {
 public:
  // `listening`: a listening Unix socket, which stays its owner's.
  explicit RowSource(int listening) : listening_(listening) {}
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  ~RowSource();

  // The next message: its length in 4 bytes, the lowest first, then its text. Waits for a client,
  // and for the message. Error io: the client or the socket is gone.
  Result<std::string> next();

 private:
  Status read(char* to, std::size_t size);

  int listening_;
  int client_ = -1;
};

}  // namespace hybridscope
