#include "storage/open_database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "sessions/text/stop_request.h"
#include "storage/file_header.h"
#include "storage/schema.h"
#include "storage/schema_check.h"
#include "storage/sql_error.h"

namespace hybridscope {
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
    insert.bind(1, std::string(row.of));
    insert.bind(2, row.code);
    insert.bind(3, std::string(row.name));
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
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no session file: a database of another program (application_id "
                             "{}, expected {})",
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
