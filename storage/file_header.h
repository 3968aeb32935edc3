// Checks the file at a path before SQLite opens it, for errors that SQLite would report late or not
// at all.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

enum class FoundFile : std::uint8_t {
  nothing,   // or an empty file; a database can be created
  database,  // begins like an SQLite database and is as long as its header says
};

// Errors: not_found, no such file or directory; corrupt, a directory, not a database, or shorter
// than its header says; not_available, the file or its directory cannot be read or written.
Result<FoundFile> look_at_file(const std::string& path, FileAccess access);

// Does the write-ahead log beside the database contain anything?
bool has_write_ahead_log(const std::string& path);

}  // namespace hybridscope
