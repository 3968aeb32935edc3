// Converts SQLite's errors to Errors. Exceptions of SQLiteCpp end here.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <string>
#include <utility>

#include "core/base/result.h"

struct sqlite3;

namespace hybridscope {

// The message names the file and what to do. not_available: locked, read-only, disk full; corrupt:
// not a database, or a damaged one; io: anything else. `handle`: the connection; null if there is
// none.
Error sqlite_error(const std::string& file, const SQLite::Exception& exception,
                   sqlite3* handle = nullptr);

// The result of `work` (a Result or Status), or the error it threw.
template <class Work>
auto catch_sqlite(const std::string& file, sqlite3* handle, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(file, exception, handle);
  }
}

}  // namespace hybridscope
