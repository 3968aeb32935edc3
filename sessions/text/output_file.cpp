#include "sessions/text/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "sessions/text/command_files.h"
#include "sessions/text/input_file.h"

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

namespace {

namespace fs = std::filesystem;

constexpr int kCompressionLevel = 6;
constexpr std::size_t kBufferBytes = 1 << 16;
// Temporary files are called TARGET.hybridscope-PID.part; other programs have TARGET.PID.part.
constexpr std::string_view kPartMark = ".hybridscope-";
constexpr std::string_view kPartEnding = ".part";

// The error names the file that the user gave, not the temporary one.
Error cannot_write(const std::string& path, std::string_view why) {
  return {ErrorKind::not_available, fmt::format("cannot write {}: {}", path, why)};
}

// The process id keeps two programs from writing to the same temporary file.
std::string part_file(const std::string& target, pid_t writer) {
  return fmt::format("{}{}{}{}", target, kPartMark, writer, kPartEnding);
}

// The process that writes or wrote this temporary file of `target`, both names without folder; 0:
// it is none.
pid_t writer_of_part(std::string_view name, std::string_view target) {
  if (!name.starts_with(target)) return 0;
  name.remove_prefix(target.size());
  if (!name.starts_with(kPartMark)) return 0;
  name.remove_prefix(kPartMark.size());
  if (!name.ends_with(kPartEnding)) return 0;
  name.remove_suffix(kPartEnding.size());
  pid_t writer = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), writer);
  return code == std::errc{} && end == name.data() + name.size() && writer > 0 ? writer : 0;
}

// A writer holds the lock of its file. Its process id alone proves nothing: it may live in another
// container that has the same folder.
bool is_dead(pid_t writer, const std::string& part) {
  if (::kill(writer, 0) == 0 || errno != ESRCH) return false;
  const int descriptor = ::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return free;
}

// The new file may be read and written by whoever might do so with the one that it replaces. False:
// errno says why not.
bool take_permissions(int descriptor, const std::string& replaced) {
  constexpr mode_t kPermissions = 0777;
  struct stat before {};
  struct stat made {};
  if (::stat(replaced.c_str(), &before) != 0) return true;  // there is none
  if (::fstat(descriptor, &made) != 0) return false;
  const mode_t wanted = before.st_mode & kPermissions;
  return (made.st_mode & kPermissions) == wanted || ::fchmod(descriptor, wanted) == 0;
}

// Removes what killed programs left of `target`.
void remove_dead_parts(const std::string& target) {
  const fs::path path = target;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const pid_t writer =
        writer_of_part(entry->path().filename().native(), path.filename().native());
    std::error_code ignored;
    if (writer > 0 && entry->symlink_status(ignored).type() == fs::file_type::regular &&
        is_dead(writer, entry->path().string()))
      fs::remove(entry->path(), ignored);
  }
}

}  // namespace

struct OutputFile::Packer {
  struct Free {
    void operator()(ZSTD_CStream* freed) const { ZSTD_freeCStream(freed); }
  };
  std::unique_ptr<ZSTD_CStream, Free> stream{ZSTD_createCStream()};
  std::vector<char> packed = std::vector<char>(ZSTD_CStreamOutSize());

  Packer() {
    ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setParameter(stream.get(), ZSTD_c_checksumFlag, 1);
  }

  // Compresses `text` and passes the result to `put`.
  template <class Put>
  Status pack(std::string_view text, ZSTD_EndDirective end, Put put) {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream.get(), &out, &in, end);
      if (ZSTD_isError(left) != 0)
        return Error{ErrorKind::io, fmt::format("zstd: {}", ZSTD_getErrorName(left))};
      if (Status written = put(std::string_view(packed.data(), out.pos)); !written.ok())
        return written;
      const bool done = end == ZSTD_e_end ? left == 0 : in.pos == in.size;
      if (done) return Ok{};
    }
  }
};

OutputFile::OutputFile(std::string path, Replacement replaces, int descriptor)
    : path_(std::move(path)),
      replaces_(std::move(replaces)),
      descriptor_(descriptor),
      is_stdout_(descriptor < 0) {
  if (path_.ends_with(".zst")) packer_ = std::make_unique<Packer>();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      replaces_(std::exchange(other.replaces_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_stdout_(other.is_stdout_),
      buffer_(std::move(other.buffer_)),
      packer_(std::move(other.packer_)) {}

OutputFile::~OutputFile() {
  if (!replaces_.part.empty() && names_open_file(replaces_.part, descriptor_))
    std::remove(replaces_.part.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path == "-" || is_standard_output(path)) return OutputFile("<stdout>", {}, -1);
  const std::string target = link_target(path);
  std::error_code error;
  const auto kind = fs::status(target, error).type();
  if (kind == fs::file_type::directory) return cannot_write(path, "it is a directory");
  const bool beside = kind == fs::file_type::regular || kind == fs::file_type::not_found;
  if (beside) remove_dead_parts(target);
  const std::string written = beside ? part_file(target, getpid()) : target;
  const int descriptor = open_to_write(written);
  if (descriptor < 0) return cannot_write(path, write_error_words(errno));
  if (!beside) return OutputFile(path, {}, descriptor);
  // Where locks are not possible, nobody takes them for free ones either.
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  OutputFile file(path, {.part = written, .target = target}, descriptor);
  if (!take_permissions(descriptor, target)) return cannot_write(path, write_error_words(errno));
  return file;
}

Status OutputFile::put(std::string_view bytes) {
  if (is_stdout_) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return Ok{};
    return cannot_write(path_, write_error_words(errno));
  }
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Ok{} : flush();
}

Status OutputFile::flush() {
  const int error =
      is_stdout_ ? (std::fflush(stdout) == 0 ? 0 : errno) : write_bytes(descriptor_, buffer_);
  buffer_.clear();
  return error == 0 ? Status(Ok{}) : cannot_write(path_, write_error_words(error));
}

Status OutputFile::write(std::string_view text) {
  if (!packer_) return put(text);
  return packer_->pack(text, ZSTD_e_continue,
                       [this](std::string_view bytes) { return put(bytes); });
}

Status OutputFile::finish(std::string_view rest) {
  if (Status written = write(rest); !written.ok()) return written;
  if (packer_) {
    const auto to_file = [this](std::string_view bytes) { return put(bytes); };
    if (Status ended = packer_->pack("", ZSTD_e_end, to_file); !ended.ok()) return ended;
  }
  if (Status flushed = flush(); !flushed.ok()) return flushed;
  if (replaces_.part.empty()) {
    if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0)
      return cannot_write(path_, write_error_words(errno));
    return Ok{};
  }
  if (!names_open_file(replaces_.part, descriptor_))
    return cannot_write(
        path_, fmt::format("{}, which was to become it, was removed or replaced", replaces_.part));
  const Replacement replaces = std::exchange(replaces_, {});
  if (::close(std::exchange(descriptor_, -1)) == 0 &&
      std::rename(replaces.part.c_str(), replaces.target.c_str()) == 0)
    return Ok{};
  const int failure = errno;
  std::remove(replaces.part.c_str());
  return cannot_write(path_, write_error_words(failure));
}

Status write_output_file(const std::string& path, std::string_view text) {
  auto file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return file.value().finish(text);
}

namespace fs = std::filesystem;

Result<MadeFolder> MadeFolder::make(const std::string& path) {
  MadeFolder folder(path);
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  std::ranges::reverse(missing);
  for (const fs::path& one : missing)
    if (fs::create_directory(one, error)) folder.made_.push_back(one.string());
  if (fs::is_directory(path, error)) return folder;
  fs::create_directories(path, error);
  return Error{ErrorKind::not_available,
               fmt::format("{}: cannot be made a folder: {}", path,
                           error ? error.message() : std::string("there is a file of that name"))};
}

MadeFolder::~MadeFolder() {
  std::error_code error;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) fs::remove(*made, error);
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  for (const std::string& path : made_) fs::remove(path, error);
}

std::string OutputFolder::path_of(std::string_view name) const {
  return (fs::path(folder_.path()) / name).string();
}

Status OutputFolder::write(std::string_view name, std::string_view text) {
  const std::string path = path_of(name);
  std::error_code error;
  const bool is_new = !fs::exists(path, error);
  if (Status written = write_output_file(path, text); !written.ok()) return written;
  if (is_new) made_.push_back(path);
  return Ok{};
}

}  // namespace hybridscope
