// Opens the SQLite database of a session file: checks that it is one, creates it, or upgrades an
// older version.
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

// Checks the file at a path before SQLite opens it, for errors that SQLite would report late or not
// at all.

enum class FoundFile : std::uint8_t {
  nothing,   // or an empty file; a database can be created
  database,  // begins like an SQLite database and is as long as its header says
};

// Errors: not_found, no such file or directory; corrupt, a directory, not a database, or shorter
// than its header says; not_available, the file or its directory cannot be read or written.
Result<FoundFile> look_at_file(const std::string& path, FileAccess access);

// Does the write-ahead log beside the database contain anything?
bool has_write_ahead_log(const std::string& path);

struct OpenOptions {
  FileAccess access = FileAccess::read;
  std::int64_t busy_timeout_ms = 10000;  // how long to wait for other programs that write
  // Whether reading ends when the program is asked to stop (input_file.h). Writing never does: it
  // may be what a recording needs to end well.
  bool ends_when_asked = true;
};

// Errors: those of SessionFile::open.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::string& path,
                                                        const OpenOptions& options);

// Removes a database and the files that SQLite keeps beside it. Requires: no connection is open.
void remove_database(const std::string& path);

// From now on SQLite ends what it does when the program is asked to stop, with SQLITE_INTERRUPT.
void end_when_asked(SQLite::Database& database);

// Waits in short intervals, so that of two programs that alternate in writing neither starves.
void set_busy_timeout(SQLite::Database& database, std::int64_t busy_timeout_ms);

}  // namespace hybridscope
