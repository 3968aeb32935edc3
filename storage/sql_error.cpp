#include "storage/sql_error.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace hybridscope {
namespace {

// A file size limit (ulimit -f) or a quota shows as a failed write.
bool means_disk_full(int code) {
  return (code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE;
}

// Has the file, or one beside it, come to the limit on the size of files (ulimit -f)?
bool is_at_size_limit(const std::string& file) {
  constexpr rlim_t kMostAtOnce = 1 << 16;  // bytes of one write
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(file + ending, error);
    if ((error ? 0 : bytes) + kMostAtOnce > limit.rlim_cur) return true;
  }
  return false;
}

// SQLite forgets the system's reason for a write that failed.
std::string system_reason(int code, const std::string& file) {
  if ((code & 0xFF) == SQLITE_FULL) return std::strerror(ENOSPC);
  if (is_at_size_limit(file))
    return fmt::format("{}: a limit on the size of files (ulimit -f) is reached",
                       std::strerror(EFBIG));
  return "the disk is full, or a limit on the size of files is reached";
}

}  // namespace

Error sqlite_error(const std::string& file, const SQLite::Exception& exception, sqlite3* handle) {
  const int code = exception.getExtendedErrorCode() > 0 ? exception.getExtendedErrorCode()
                                                        : exception.getErrorCode();
  if (means_disk_full(code))
    return {ErrorKind::not_available,
            fmt::format("{}: cannot write: {}", file, system_reason(code, file))};
  switch (code & 0xFF) {
    case SQLITE_INTERRUPT:
      return {ErrorKind::not_available, fmt::format("{}: interrupted", file)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::not_available,
              fmt::format("{}: locked by another program that writes it; try again when it is done",
                          file)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorKind::not_available,
              fmt::format("{}: cannot write: the file or its directory is read-only", file)};
    case SQLITE_CANTOPEN:
      return {ErrorKind::not_available,
              fmt::format("{}: cannot open it or the files beside it (-wal, -shm); is the "
                          "directory writable?",
                          file)};
    case SQLITE_NOTADB:
      return {ErrorKind::corrupt,
              fmt::format("{}: no session file: it is no SQLite database", file)};
    case SQLITE_CORRUPT:
      return {ErrorKind::corrupt,
              fmt::format("{}: damaged or truncated: {}", file, exception.what())};
    default:
      break;
  }
  const int system_error = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  return {ErrorKind::io,
          fmt::format("{}: {}{}{}", file, exception.what(), system_error == 0 ? "" : ": ",
                      system_error == 0 ? "" : std::strerror(system_error))};
}

}  // namespace hybridscope
