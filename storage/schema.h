// What a session file looks like inside (docs/session-format.md): tables, views, lookup rows and
// the steps from older versions to this one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

// "HyS1": PRAGMA application_id of a session file.
inline constexpr std::int32_t kApplicationId = 0x48795331;
// PRAGMA user_version: what this program writes. Older versions are migrated when a file is opened
// for writing; newer ones are refused.
inline constexpr std::int32_t kSchemaVersion = 3;

// Makes version n+1 out of version n. Run in one transaction, part after part.
struct SchemaStep {
  std::vector<std::string_view> sql;  // each some statements
};
// [kSchemaVersion] element 0 makes version 1 out of an empty database.
std::vector<SchemaStep> schema_steps();

// Codes of the enums that tables hold, for people: enum_names(enum, code, name).
struct EnumName {
  std::string_view of;  // "row_class"
  std::int32_t code = 0;
  std::string_view name;
};
std::vector<EnumName> enum_names();

// Of the SQLite library that runs: "3.40.1".
std::string sqlite_version();

}  // namespace hybridscope
