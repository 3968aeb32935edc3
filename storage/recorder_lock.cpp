#include "storage/recorder_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace hybridscope {
namespace {

// Locked while a recorder makes its lock or looks whether it is the last one; no session began at
// this time.
constexpr off_t kGate = 0;

// SQLite too puts its files beside the file that a link points to.
std::string lock_file(const std::string& database) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(database, error);
  return (error ? database : target.string()) + "-lock";
}

// A lock that belongs to the open file, not to the process: closing another descriptor of the same
// file keeps it. `length` 0: up to the end of all numbers.
bool lock(int descriptor, int command, short type, off_t begin, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = length;
  int code = 0;
  do code = fcntl(descriptor, command, &lock);
  while (code != 0 && errno == EINTR);
  return code == 0 && (command != F_OFD_GETLK || lock.l_type == F_UNLCK);
}

// Could this range be locked, as nobody else has a lock in it?
bool is_free(int descriptor, off_t begin, off_t length) {
  return lock(descriptor, F_OFD_GETLK, F_WRLCK, begin, length);
}

// Is it still the file of this name? The last recorder may have removed it.
bool has_name(int descriptor, const std::string& file) {
  struct stat opened {};
  struct stat named {};
  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

Error cannot_lock(const std::string& file) {
  return {ErrorKind::not_available, fmt::format("{}: cannot lock it, which shows that a session is "
                                                "being recorded: {}",
                                                file, std::strerror(errno))};
}

}  // namespace

RecorderLock::RecorderLock(std::string file, int descriptor)
    : file_(std::move(file)), descriptor_(descriptor) {}

RecorderLock::RecorderLock(RecorderLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RecorderLock& RecorderLock::operator=(RecorderLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Result<RecorderLock> RecorderLock::acquire(const std::string& database, std::int64_t created_us) {
  const std::string file = lock_file(database);
  for (;;) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return cannot_lock(file);
    RecorderLock made(file, descriptor);  // closes it on an error
    if (!lock(descriptor, F_OFD_SETLKW, F_WRLCK, kGate, 1)) return cannot_lock(file);
    if (!has_name(descriptor, file)) continue;
    if (!lock(descriptor, F_OFD_SETLK, F_WRLCK, created_us, 1)) return cannot_lock(file);
    lock(descriptor, F_OFD_SETLK, F_UNLCK, kGate, 1);
    return made;
  }
}

void RecorderLock::release() {
  if (descriptor_ < 0) return;
  const bool at_gate = lock(descriptor_, F_OFD_SETLKW, F_WRLCK, kGate, 1);
  if (at_gate && has_name(descriptor_, file_) && is_free(descriptor_, kGate + 1, 0))
    unlink(file_.c_str());
  close(std::exchange(descriptor_, -1));
}

bool has_living_recorder(const std::string& database, std::int64_t created_us) {
  const int descriptor = open(lock_file(database).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno != ENOENT;
  const bool living = !is_free(descriptor, created_us, 1);
  close(descriptor);
  return living;
}

}  // namespace hybridscope
