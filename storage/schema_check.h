// Whether a file's tables, indexes and views are those that this program makes. SQLite runs what a
// schema says: a view in place of a table, or a trigger, would let a file decide what a command
// does, and for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

// Error corrupt: what of the schema of this version is missing or another; an index that somebody
// added to one of its tables; any trigger. Other tables and views may be there.
Status check_schema(SQLite::Database& database, std::int64_t version, const std::string& file);

// The tables of the newest version that have rows of sessions.
std::vector<std::string> tables_of_sessions();

}  // namespace hybridscope
