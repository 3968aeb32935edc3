// The inside of a session file (docs/session-format.md): tables, views, lookup rows, and the
// upgrades from older versions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

// "HyS1": PRAGMA application_id of a session file.
inline constexpr std::int32_t kApplicationId = 0x48795331;
// PRAGMA user_version: the version that this program writes. Older versions are upgraded when a
// file is opened for writing; newer ones are refused.
inline constexpr std::int32_t kSchemaVersion = 7;

// Upgrades version n to n+1. Run in one transaction, part by part.
struct SchemaStep {
  std::vector<std::string_view> sql;  // each part has one or more statements
};
// [kSchemaVersion] element 0 makes version 1 in an empty database.
std::vector<SchemaStep> schema_steps();

// Names for the codes of the enums in the tables, for users: enum_names(enum, code, name).
struct EnumName {
  std::string_view of;  // "row_class"
  std::int32_t code = 0;
  std::string_view name;
};
std::vector<EnumName> enum_names();

// The version of the SQLite library at run time: "3.40.1".
std::string sqlite_version();

// Whether a file's tables, indexes and views are those that this program makes. SQLite runs what a
// schema says: a view in place of a table, or a trigger, would let a file decide what a command
// does, and for how long.

// Error corrupt: what of the schema of this version is missing or another; an index that somebody
// added to one of its tables; any trigger. Other tables and views may be there.
Status check_schema(SQLite::Database& database, std::int64_t version, const std::string& file);

// The tables of the newest version that have rows of sessions.
std::vector<std::string> tables_of_sessions();

}  // namespace hybridscope
