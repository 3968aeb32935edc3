// Opens the SQLite database behind a session file: checks that it is one, makes it, or brings an
// older one up to date.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

struct OpenOptions {
  FileAccess access = FileAccess::read;
  std::int64_t busy_timeout_ms = 10000;  // how long other programs that write are waited for
};

// Errors: those of SessionFile::open.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::string& path,
                                                        const OpenOptions& options);

// Waits in short turns, so that of two programs that write in turns none starves.
void set_busy_timeout(SQLite::Database& database, std::int64_t busy_timeout_ms);

}  // namespace hybridscope
