#include "storage/sql_error.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>

namespace hybridscope {
namespace {

// A limit on the size of files (ulimit -f) and a quota are a full disk to whoever writes.
bool means_disk_full(int code, int system_error) {
  if ((code & 0xFF) == SQLITE_FULL) return true;
  return (code & 0xFF) == SQLITE_IOERR &&
         (system_error == EFBIG || system_error == ENOSPC || system_error == EDQUOT);
}

bool is_failed_write(int code) {
  switch (code) {
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMSIZE:
      return true;
    default:
      return false;
  }
}

}  // namespace

Error sqlite_error(const std::string& file, const SQLite::Exception& exception, sqlite3* handle) {
  const int code = exception.getExtendedErrorCode() > 0 ? exception.getExtendedErrorCode()
                                                        : exception.getErrorCode();
  const int system_error = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  if (means_disk_full(code, system_error))
    return {ErrorKind::not_available, fmt::format("{}: cannot write: the disk is full", file)};
  switch (code & 0xFF) {
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
  return {is_failed_write(code) ? ErrorKind::not_available : ErrorKind::io,
          fmt::format("{}: {}", file, exception.what())};
}

}  // namespace hybridscope
