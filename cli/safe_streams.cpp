#include "cli/safe_streams.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// A stream and the bytes that began a character at the end of what was printed last. Never
// destroyed: the system's library writes what is buffered after all destructors.
struct SafeStream {
  int descriptor = -1;
  int error = 0;  // of the system, when it first could not be written
  std::string* unfinished = nullptr;
};

SafeStream safe_out{STDOUT_FILENO, 0, nullptr};
SafeStream safe_err{STDERR_FILENO, 0, nullptr};

bool write_whole(SafeStream& stream, std::string_view bytes) {
  // What takes nothing from a program that is asked to stop is not waited for again.
  const int error = stream.error == EINTR ? EINTR : write_bytes(stream.descriptor, bytes);
  if (stream.error == 0) stream.error = error;
  return error == 0;
}

// Called by the C library with what was printed; 0: an error.
extern "C" ssize_t write_shown(void* cookie, const char* bytes, std::size_t size) {
  auto& stream = *static_cast<SafeStream*>(cookie);
  std::string text = *stream.unfinished + std::string(bytes, size);
  const std::size_t left = unfinished_bytes(text);
  *stream.unfinished = text.substr(text.size() - left);
  text.resize(text.size() - left);
  const bool written = write_whole(stream, escape_controls(text));
  // There is nowhere to tell that standard error cannot be written, and a command that is asked to
  // stop still finishes its report and its session: nobody has to handle either.
  if (written || &stream == &safe_err || stream.error == EINTR) return static_cast<ssize_t>(size);
  errno = stream.error;
  return 0;
}

// Replaces `stream`; where memory lacks it stays as it is.
void replace(std::FILE*& stream, SafeStream& safe, int buffering) {
  std::fflush(stream);
  if (safe.unfinished == nullptr) safe.unfinished = new std::string;
  std::FILE* made = fopencookie(
      &safe, "w", {.read = nullptr, .write = &write_shown, .seek = nullptr, .close = nullptr});
  if (made == nullptr) return;
  std::setvbuf(made, nullptr, buffering, kBufferBytes);
  stream = made;
}

void finish(std::FILE* stream, SafeStream& safe) {
  std::fflush(stream);
  if (safe.unfinished != nullptr)
    write_whole(safe, escape_controls(std::exchange(*safe.unfinished, {})));
}

}  // namespace

void make_streams_safe() {
  replace(stdout, safe_out, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF);
  replace(stderr, safe_err, _IONBF);
}

int finish_streams() {
  finish(stdout, safe_out);
  finish(stderr, safe_err);
  return safe_out.error;
}

void erase_line() { write_whole(safe_err, "\r\033[K"); }

}  // namespace hybridscope
