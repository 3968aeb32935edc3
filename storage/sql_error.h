// What SQLite says is wrong, as an Error of ours. Exceptions of SQLiteCpp end here.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>
#include <utility>

#include "core/base/result.h"

struct sqlite3;

namespace hybridscope {

// Names the file and what to do. not_available: locked, read-only, disk full; corrupt: no database
// or a damaged one; io: anything else. `handle`: of the connection, null when there is none.
Error sqlite_error(const std::string& file, const SQLite::Exception& exception,
                   sqlite3* handle = nullptr);

// What `work` returns (a Result or Status), or the error it threw.
template <class Work>
auto catch_sqlite(const std::string& file, sqlite3* handle, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(file, exception, handle);
  }
}

}  // namespace hybridscope
