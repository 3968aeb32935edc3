#include "storage/open_database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/result.h"
#include "sessions/text/input_file.h"
#include "storage/schema.h"
#include "storage/table_cursor.h"

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

namespace {

using Database = std::unique_ptr<SQLite::Database>;

constexpr std::int64_t kPageSize = 8192;
// Up to this size quick_check takes only milliseconds.
constexpr std::int64_t kCheckedFileBytes = 1 << 20;

// SQLite's own handler waits longer and longer, up to 100 ms, and misses the gap between two
// transactions of a busy writer.
constexpr std::int64_t kPollUs = 500;

int wait_a_turn(void* max_polls, int polls) {
  if (polls >= static_cast<int>(reinterpret_cast<std::intptr_t>(max_polls))) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds(kPollUs));
  return 1;
}

std::int64_t pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(std::string("PRAGMA ") + name).getInt64();
}

bool has_tables(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64() > 0;
}

// In a URI, '?' or '#' would end the path.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char byte : path) {
    if (byte == '?' || byte == '#' || byte == '%')
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    else
      uri += byte;
  }
  return uri + "?immutable=1";
}

// A file may have been made to harm: what its schema says gets as little as it needs.
void distrust(SQLite::Database& database) {
  constexpr std::pair<int, int> kSettings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                               {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                               {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
  for (const auto& [setting, value] : kSettings)
    HS_EXPECT(sqlite3_db_config(database.getHandle(), setting, value, nullptr) == SQLITE_OK);
}

// Reads the first page, so that anything that prevents reading the file is reported here.
Database connect(const std::string& name, int flags, const OpenOptions& options) {
  auto database = std::make_unique<SQLite::Database>(name, flags | SQLite::OPEN_NOMUTEX);
  distrust(*database);
  set_busy_timeout(*database, options.busy_timeout_ms);
  if (options.access == FileAccess::read && options.ends_when_asked) end_when_asked(*database);
  pragma(*database, "schema_version");
  return database;
}

// In a read-only directory SQLite cannot create the files that it keeps beside the database.
// Without a write-ahead log it does not need them.
Database connect_to_read(const std::string& path, const OpenOptions& options) {
  try {
    return connect(path, SQLite::OPEN_READONLY, options);
  } catch (const SQLite::Exception& exception) {
    const int code = exception.getErrorCode() & 0xFF;
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || has_write_ahead_log(path)) throw;
    return connect(immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, options);
  }
}

// Makes all missing versions in one transaction.
void upgrade(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const auto steps = schema_steps();
  // Another program may have upgraded it meanwhile.
  const std::int64_t version = pragma(database, "user_version");
  for (std::int64_t i = version; i < kSchemaVersion; ++i)
    for (const std::string_view sql : steps[static_cast<std::size_t>(i)].sql)
      database.exec(std::string(sql));
  SQLite::Statement insert(database, "INSERT OR REPLACE INTO enum_names VALUES (?, ?, ?)");
  for (const EnumName& row : enum_names()) {
    SQLite::bind(insert, std::string(row.of), row.code, std::string(row.name));
    insert.exec();
    insert.reset();
  }
  if (version < kSchemaVersion) {
    database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  }
  transaction.commit();
}

// Sets the page size and journal mode of an empty database; a transaction cannot change them.
void prepare_empty(SQLite::Database& database, std::int64_t busy_timeout_ms) {
  database.exec(fmt::format("PRAGMA page_size = {}", kPageSize));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& exception) {
      if ((exception.getErrorCode() & 0xFF) != SQLITE_BUSY ||
          std::chrono::steady_clock::now() > deadline)
        throw;
      std::this_thread::sleep_for(std::chrono::microseconds(kPollUs));
    }
  }
}

Status check_kind(SQLite::Database& database, const std::string& path) {
  const std::int64_t application = pragma(database, "application_id");
  const std::int64_t version = pragma(database, "user_version");
  if (application != kApplicationId)
    return Error{
        ErrorKind::corrupt,
        fmt::format(
            "{}: no session file: a database of another program (application_id {}, expected {})",
            path, application, kApplicationId)};
  if (version > kSchemaVersion)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: written by a newer hybridscope: version {} of the file, this "
                             "program knows versions up to {}",
                             path, version, kSchemaVersion)};
  if (version < 1)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: damaged: version {} of the file, expected 1 to {}", path, version,
                             kSchemaVersion)};
  return Ok{};
}

Status check_content(SQLite::Database& database, const std::string& path) {
  if (pragma(database, "page_count") * pragma(database, "page_size") > kCheckedFileBytes)
    return Ok{};
  const std::string answer = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (answer == "ok") return Ok{};
  return Error{ErrorKind::corrupt, fmt::format("{}: damaged or truncated: {}", path, answer)};
}

void set_up_to_write(SQLite::Database& database) {
  database.exec("PRAGMA foreign_keys = ON");
  // A power failure may lose the last transactions, a killed program loses none; the file stays
  // consistent.
  database.exec("PRAGMA synchronous = NORMAL");
}

Result<Database> open_existing(const std::string& path, const OpenOptions& options) {
  const bool reads = options.access == FileAccess::read;
  Database database =
      reads ? connect_to_read(path, options) : connect(path, SQLite::OPEN_READWRITE, options);
  if (!has_tables(*database) && pragma(*database, "application_id") == 0) {
    if (options.access != FileAccess::create)
      return Error{ErrorKind::corrupt, fmt::format("{}: no session file: an empty database", path)};
    prepare_empty(*database, options.busy_timeout_ms);
    upgrade(*database);
  }
  if (Status kind = check_kind(*database, path); !kind.ok()) return kind.error();
  const std::int64_t version = pragma(*database, "user_version");
  if (Status schema = check_schema(*database, version, path); !schema.ok()) return schema.error();
  if (Status content = check_content(*database, path); !content.ok()) return content.error();
  if (version < kSchemaVersion && reads) {
    if (access(path.c_str(), W_OK) != 0)
      return Error{ErrorKind::not_available,
                   fmt::format("{}: version {} of the file, this program reads version {}; it is "
                               "brought up to date when it is opened where it can be written",
                               path, version, kSchemaVersion)};
    database.reset();
    const auto writable = open_existing(
        path, {.access = FileAccess::write, .busy_timeout_ms = options.busy_timeout_ms});
    return writable.ok() ? open_existing(path, options) : writable.error();
  }
  if (version < kSchemaVersion) upgrade(*database);
  if (!reads) set_up_to_write(*database);
  return database;
}

Database make(const std::string& path, const OpenOptions& options) {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(path, error);
  Database database;
  try {
    database = connect(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, options);
    prepare_empty(*database, options.busy_timeout_ms);
    upgrade(*database);
    set_up_to_write(*database);
    return database;
  } catch (const SQLite::Exception& exception) {
    const int code = exception.getErrorCode() & 0xFF;
    database.reset();
    if (is_new && (code == SQLITE_FULL || code == SQLITE_IOERR)) remove_database(path);
    throw;
  }
}

}  // namespace

void remove_database(const std::string& path) {
  std::error_code error;
  for (const char* ending : {"-wal", "-shm", "-journal", ""})
    std::filesystem::remove(path + ending, error);
}

void end_when_asked(SQLite::Database& database) {
  constexpr int kOperations = 4000;
  sqlite3_progress_handler(
      database.getHandle(), kOperations, [](void*) { return stop_requested() ? 1 : 0; }, nullptr);
}

void set_busy_timeout(SQLite::Database& database, std::int64_t busy_timeout_ms) {
  const auto max_polls = static_cast<std::intptr_t>(busy_timeout_ms * 1000 / kPollUs);
  sqlite3_busy_handler(database.getHandle(), wait_a_turn, reinterpret_cast<void*>(max_polls));
}

Result<Database> open_database(const std::string& path, const OpenOptions& options) {
  const auto found = look_at_file(path, options.access);
  if (!found.ok()) return found.error();
  return catch_sqlite(path, nullptr, [&]() -> Result<Database> {
    if (found.value() == FoundFile::nothing) return make(path, options);
    return open_existing(path, options);
  });
}

std::string sqlite_version() { return sqlite3_libversion(); }

}  // namespace hybridscope
