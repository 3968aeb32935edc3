#include "storage/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/record/value_names.h"
#include "sessions/text/json_value.h"
#include "storage/schema_files.h"

namespace hybridscope {
namespace {

// The SQL of the versions counts on these codes.
static_assert(static_cast<int>(CacheEventKind::allocated) == 0);
static_assert(static_cast<int>(StateKind::conv) == 0);

}  // namespace

std::vector<SchemaStep> schema_steps() {
  using namespace schema_files;
  std::vector<SchemaStep> steps = {{.sql = {schema_v1_sql}}, {.sql = {schema_v2_sql}},
                                   {.sql = {schema_v3_sql}}, {.sql = {schema_v4_sql}},
                                   {.sql = {schema_v5_sql}}, {.sql = {schema_v6_sql}},
                                   {.sql = {schema_v7_sql}}};
  HS_EXPECT(steps.size() == static_cast<std::size_t>(kSchemaVersion));
  return steps;
}

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
                            "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE "
                            "t.type = 'table' AND c.name = 'session'");
    while (query.executeStep()) tables.push_back(query.getColumn(0).getString());
  });
  return tables;
}

namespace {

// Numbers in the tables that are not enums in C++, or that get shorter names.
constexpr std::array kLaunches = {"before_forward", "after_sampling"};
constexpr std::array kWriteKinds = {"never",    "prefill",   "decode",
                                    "pre_copy", "post_copy", "attention"};
constexpr std::array kContentKinds = {"none", "temporal", "conv", "attention"};
constexpr std::array kArrayDtypes = {"boolean", "int32", "int64", "host_int", "host_bool"};

class Table {
 public:
  template <std::size_t N>
  void add(std::string_view of, const std::array<const char*, N>& names) {
    for (std::size_t code = 0; code < N; ++code)
      rows_.push_back({of, static_cast<std::int32_t>(code), names[code]});
  }
  template <class Enum>
  void add(std::string_view of) {
    for (std::int32_t code = 0; code < num_codes<Enum>(); ++code)
      rows_.push_back({of, code, value_names::name(static_cast<Enum>(code))});
  }
  std::vector<EnumName> take() { return std::move(rows_); }

 private:
  std::vector<EnumName> rows_;
};

}  // namespace

std::vector<EnumName> enum_names() {
  Table table;
  table.add<CommandKind>("command");
  table.add<CommandOutcome>("command_outcome");
  table.add<IgnoredReason>("ignored_reason");
  table.add<Admission>("admission");
  table.add<RowClass>("row_class");
  table.add<RowOrigin>("row_origin");
  table.add<CommitOutcome>("commit_outcome");
  table.add<SkipReason>("skip_reason");
  table.add<LookupStop>("lookup_stop");
  table.add<CacheEventKind>("cache_event");
  table.add<CUDAGraphMode>("runtime_mode");
  table.add<CudagraphDispatchReason>("dispatch_reason");
  table.add("launch", kLaunches);
  table.add<StateCopyRule>("copy_rule");
  table.add<StateCopyOutcome>("copy_outcome");
  table.add("write_kind", kWriteKinds);
  table.add("content", kContentKinds);
  table.add("array_dtype", kArrayDtypes);
  return table.take();
}

}  // namespace hybridscope
