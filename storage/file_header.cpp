#include "storage/file_header.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace hybridscope {
namespace {

// https://www.sqlite.org/fileformat.html, section 1.3.
constexpr std::size_t kHeaderBytes = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
using Header = std::array<unsigned char, kHeaderBytes>;

std::uint32_t big_endian(const Header& header, std::size_t at) {
  return static_cast<std::uint32_t>(header[at]) << 24 |
         static_cast<std::uint32_t>(header[at + 1]) << 16 |
         static_cast<std::uint32_t>(header[at + 2]) << 8 | header[at + 3];
}

// The file size according to the header; 0: unknown (last written by an old SQLite).
std::int64_t promised_bytes(const Header& header) {
  if (big_endian(header, 24) != big_endian(header, 92)) return 0;
  const std::int64_t size = header[16] << 8 | header[17];
  return (size == 1 ? 65536 : size) * static_cast<std::int64_t>(big_endian(header, 28));
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// "runs.txt:before", "runs.txt:a/b": where the colon before a session's name is; npos: the whole
// path is the file's name.
std::size_t colon_of_session(const std::string& path) {
  const auto colon = path.find(':');
  if (colon == std::string::npos || colon == 0 || path[colon - 1] == '/') return std::string::npos;
  struct stat folder {};
  const auto slash = path.find('/', colon);
  const bool in_folder =
      slash != std::string::npos && stat(path.substr(0, slash).c_str(), &folder) == 0;
  return in_folder ? std::string::npos : colon;
}

Error names_no_session_file(const std::string& path) {
  const auto colon = colon_of_session(path);
  const std::string file = path.substr(0, colon);
  const std::string session = colon == std::string::npos ? "" : path.substr(colon);
  const std::string instead =
      session.empty() ? fmt::format(", or runs.db:{} for a session of that name in runs.db",
                                    path.substr(path.rfind('/') + 1))
                      : "";
  return {ErrorKind::invalid_input,
          fmt::format("{}: \"{}\" is no name of a session file, expected one that ends in .db, "
                      ".db3, .sqlite or .sqlite3, such as {}.db{}{}",
                      path, file, file, session, instead)};
}

Result<FoundFile> look_for_place(const std::string& path, FileAccess access_wanted) {
  const std::string directory = directory_of(path);
  struct stat found {};
  const bool creates = access_wanted == FileAccess::create;
  if (creates && !is_session_file_name(path)) return names_no_session_file(path);
  if (stat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
    return Error{creates ? ErrorKind::not_available : ErrorKind::not_found,
                 fmt::format("{}: no such directory: {}", path, directory)};
  if (!creates) return Error{ErrorKind::not_found, fmt::format("{}: no such file", path)};
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    return Error{ErrorKind::not_available,
                 fmt::format("{}: cannot be made: {} is read-only", path, directory)};
  return FoundFile::nothing;
}

Status check_header(const std::string& path, std::int64_t file_bytes) {
  Header header{};
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(header.data()), header.size());
  const auto bytes = static_cast<std::size_t>(in.gcount());
  if (std::memcmp(header.data(), kMagic.data(), std::min(bytes, kMagic.size())) != 0)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no session file: it is no SQLite database", path)};
  // The missing pages may be in a log beside the file.
  if (bytes == kHeaderBytes && (file_bytes >= promised_bytes(header) || has_write_ahead_log(path)))
    return Ok{};
  return Error{ErrorKind::corrupt,
               fmt::format("{}: truncated: {} bytes, expected {}", path, file_bytes,
                           bytes == kHeaderBytes ? promised_bytes(header) : 100)};
}

}  // namespace

bool has_write_ahead_log(const std::string& path) {
  struct stat found {};
  return stat((path + "-wal").c_str(), &found) == 0 && found.st_size > 0;
}

Result<FoundFile> look_at_file(const std::string& path, FileAccess access_wanted) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return look_for_place(path, access_wanted);
    return Error{ErrorKind::not_available, fmt::format("{}: {}", path, std::strerror(errno))};
  }
  if (!S_ISREG(found.st_mode))
    return Error{
        access_wanted == FileAccess::create ? ErrorKind::not_available : ErrorKind::corrupt,
        fmt::format("{}: {}, expected a session file", path,
                    S_ISDIR(found.st_mode) ? "a directory" : "no regular file")};
  if (access(path.c_str(), R_OK) != 0)
    return Error{ErrorKind::not_available,
                 fmt::format("{}: cannot be read: {}", path, std::strerror(errno))};
  if (access_wanted != FileAccess::read && access(path.c_str(), W_OK) != 0)
    return Error{ErrorKind::not_available,
                 fmt::format("{}: cannot be written: the file is read-only", path)};
  if (found.st_size == 0 && !has_write_ahead_log(path)) {
    if (access_wanted == FileAccess::create) return FoundFile::nothing;
    return Error{ErrorKind::corrupt, fmt::format("{}: no session file: it is empty", path)};
  }
  if (Status header = check_header(path, found.st_size); !header.ok()) return header.error();
  return FoundFile::database;
}

}  // namespace hybridscope
