// What lies at a path, before SQLite opens it: errors that SQLite would tell late or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

enum class FoundFile : std::uint8_t {
  nothing,   // or an empty file: can be made
  database,  // begins as an SQLite database does, and is as long as it says
};

// Errors: not_found, there is no such file or directory; corrupt, a directory, no database, shorter
// than its header says; not_available, it or its directory cannot be read or written.
Result<FoundFile> look_at_file(const std::string& path, FileAccess access);

// Is there something in the log beside the database that belongs to it?
bool has_write_ahead_log(const std::string& path);

}  // namespace hybridscope
