#include "storage/schema_check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/check.h"
#include "sessions/text/json_value.h"
#include "storage/schema.h"

namespace hybridscope {
namespace {

struct SchemaObject {
  std::string name;   // a trigger may be called like a table
  std::string type;   // table, index, view, trigger
  std::string table;  // that it belongs to
  std::string sql;    // empty: an index that SQLite made by itself
};
using MadeSchema = std::map<std::string, SchemaObject>;  // by name; it has no trigger

std::vector<SchemaObject> schema_of(SQLite::Database& database) {
  std::vector<SchemaObject> schema;
  SQLite::Statement query(database,
                          "SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema");
  while (query.executeStep())
    schema.push_back({.name = query.getColumn(0).getString(),
                      .type = query.getColumn(1).getString(),
                      .table = query.getColumn(2).getString(),
                      .sql = query.getColumn(3).getString()});
  return schema;
}

// Calls `look` with each version in turn.
template <class Look>
void make_schemas(const Look& look) {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const SchemaStep& step : schema_steps()) {
    for (const std::string_view sql : step.sql) database.exec(std::string(sql));
    look(database);
  }
}

// [version - 1]
const std::vector<MadeSchema>& made_schemas() {
  static const std::vector<MadeSchema> schemas = [] {
    std::vector<MadeSchema> made;
    make_schemas([&made](SQLite::Database& database) {
      MadeSchema& schema = made.emplace_back();
      for (SchemaObject& object : schema_of(database)) schema[object.name] = object;
    });
    return made;
  }();
  return schemas;
}

// "a view", "an index".
std::string with_article(const std::string& type) {
  return (type == "index" ? "an " : "a ") + type;
}

// What is wrong with an object of the file; empty: nothing.
std::string fault_of_object(const SchemaObject& found, const MadeSchema& made) {
  const std::string& name = found.name;
  const auto expected = made.find(name);
  if (found.type == "trigger")
    return fmt::format("{} is a trigger, expected none", quoted_text(name));
  if (expected == made.end())
    return found.type == "index" && made.contains(found.table)
               ? fmt::format("{} is an index of table {} that hybridscope did not make",
                             quoted_text(name), found.table)
               : std::string();
  if (found.type != expected->second.type)
    return fmt::format("{} is {}, expected {}", quoted_text(name), with_article(found.type),
                       with_article(expected->second.type));
  if (found.table != expected->second.table || found.sql != expected->second.sql)
    return fmt::format("{} {} is another than hybridscope makes", found.type, quoted_text(name));
  return {};
}

}  // namespace

Status check_schema(SQLite::Database& database, std::int64_t version, const std::string& file) {
  HS_EXPECT(version >= 1 && version <= kSchemaVersion);
  const MadeSchema& made = made_schemas()[static_cast<std::size_t>(version - 1)];
  const std::vector<SchemaObject> found = schema_of(database);
  const auto refuse = [&file](const std::string& fault) {
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: no session file as hybridscope makes it: {}", file, fault)};
  };
  for (const SchemaObject& object : found)
    if (const std::string fault = fault_of_object(object, made); !fault.empty())
      return refuse(fault);
  for (const auto& [name, object] : made)
    if (std::ranges::find(found, name, &SchemaObject::name) == found.end())
      return refuse(fmt::format("{} {} is missing", object.type, quoted_text(name)));
  return Ok{};
}

std::vector<std::string> tables_of_sessions() {
  std::vector<std::string> tables;
  make_schemas([&tables](SQLite::Database& database) {
    tables.clear();
    SQLite::Statement query(database,
                            "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c "
                            "WHERE t.type = 'table' AND c.name = 'session'");
    while (query.executeStep()) tables.push_back(query.getColumn(0).getString());
  });
  return tables;
}

}  // namespace hybridscope
