// One prepared INSERT that is fed by walking the field lists (sessions/record/step_fields.h). Used
// by one thread at a time; SQLite::Exception is what it throws.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/ids.h"
#include "core/check/finding.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

class Insert {
 public:
  // The values come in the order of `columns`, behind the session's number, which each table begins
  // with.
  Insert(SQLite::Database& database, std::string_view table, std::int64_t session,
         const std::vector<std::string>& columns);

  // Begins a row. Then a call for each column, then run().
  Insert& row(std::int64_t first) {
    next_ = 2;
    return integer(first);
  }
  Insert& integer(std::int64_t value) {
    failed_ |= sqlite3_bind_int64(statement_.get(), next_++, value);
    return *this;
  }
  // Not copied: `value` has to live until run().
  Insert& text(std::string_view value) {
    failed_ |= sqlite3_bind_text(statement_.get(), next_++, value.data() ? value.data() : "",
                                 static_cast<int>(value.size()), SQLITE_STATIC);
    return *this;
  }
  // Not copied: `bytes` has to live until run().
  Insert& blob(std::span<const std::uint8_t> bytes);
  // Little-endian, four bytes a value. Not copied.
  Insert& blob(const std::vector<std::int32_t>& values);
  Insert& null() {
    failed_ |= sqlite3_bind_null(statement_.get(), next_++);
    return *this;
  }
  // For all columns that are left.
  void nulls() {
    while (next_ <= sqlite3_bind_parameter_count(statement_.get())) null();
  }
  void run();

  // Binds a field as its column holds it: requests and enums as integers, rules by their slug,
  // fingerprints as the same 64 bits.
  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      integer(value.value);
    else if constexpr (std::is_same_v<T, Rule>)
      text(rule_info(value).slug);
    else if constexpr (std::is_same_v<T, std::string_view>)
      text(value);
    else
      integer(static_cast<std::int64_t>(value));
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* handle_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
  int failed_ = SQLITE_OK;
};

}  // namespace hybridscope
