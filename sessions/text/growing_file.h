// Files that grow by lines: written by this program, or read while an engine writes them (also from
// a socket).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// A file of lines that only grows: a line is in the file when append() returns, a line that does
// not fit is taken back, and one program at a time may write.

struct WholeLines {
  std::string text;                             // of the whole file
  std::size_t num_bytes = 0;                    // of its lines that end with a newline
  std::vector<std::string_view> lines() const;  // without newlines; views of `text`
  // What lies behind the last newline, as a crash may leave it.
  std::string_view unfinished() const { return std::string_view(text).substr(num_bytes); }
};

// Error corrupt: the file is larger than kMaxJsonBytes. Other errors: those of read_text_file.
Result<WholeLines> read_whole_lines(const std::string& file);

class LineFile {
 public:
  // Creates the file if there is none, and locks it while this object lives. Error not_available:
  // it cannot be written, or another hybridscope writes it.
  static Result<LineFile> open(const std::string& file);

  const std::string& file() const { return file_; }

  // Cuts the file after so many bytes. Error not_available.
  Status cut(std::size_t num_bytes);

  // `line` without a newline. Error not_available: it does not fit, or the file was removed or
  // replaced; the file is as before, and every later call fails with the same error.
  Status append(std::string_view line);
  const std::optional<Error>& failure() const { return failure_; }
  // Is what has this name now, if anything, another's file?
  bool was_replaced() const { return was_replaced_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Stream = std::unique_ptr<std::FILE, Close>;
  LineFile(std::string file, Stream stream);

  std::string file_;
  Stream stream_;  // null after a failure
  std::uintmax_t num_bytes_ = 0;
  std::optional<Error> failure_;
  bool was_replaced_ = false;
};

// Reads a trace while an engine writes it, from a file that grows or from a socket.

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
