#include "storage/insert.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <bit>

namespace hybridscope {

static_assert(std::endian::native == std::endian::little, "blobs are written as memory holds them");

Insert::Insert(SQLite::Database& database, std::string_view table, std::int64_t session,
               const std::vector<std::string>& columns)
    : handle_(database.getHandle()) {
  std::string names = "session";
  std::string marks = "?";
  for (const std::string& column : columns) {
    names += ", " + column;
    marks += ", ?";
  }
  const std::string sql =
      "INSERT INTO " + std::string(table) + " (" + names + ") VALUES (" + marks + ")";
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  statement_.reset(statement);
  integer(session);
}

Insert& Insert::blob(std::span<const std::uint8_t> bytes) {
  // The data of nothing may be null, which would bind NULL.
  const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  failed_ |= sqlite3_bind_blob64(statement_.get(), next_++, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Insert& Insert::blob(const std::vector<std::int32_t>& values) {
  return blob(
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(std::int32_t)});
}

void Insert::run() {
  if (failed_ != SQLITE_OK) throw SQLite::Exception(handle_, failed_);
  const int code = sqlite3_step(statement_.get());
  const int reset = sqlite3_reset(statement_.get());
  if (code != SQLITE_DONE) throw SQLite::Exception(handle_, reset);
}

}  // namespace hybridscope
