#include "storage/session_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <utility>

#include "sessions/judge/trace_reader.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/speech_json.h"
#include "sessions/scenario/engine_profile.h"
#include "storage/open_database.h"
#include "storage/schema.h"
#include "storage/session_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {
namespace {

constexpr const char* kInfoColumns =
    "session, name, kind, status, status_reason, level, created_us, program, source, model, "
    "engine, coalesce(parent_name, ''), coalesce(forked_at, 0), note, num_steps, "
    "num_request_steps, num_errors, num_warnings, mamba_cache_mode, num_speculative_tokens, "
    "check_scope, digest_version, keeps_count_resets, language";

// The value with the name from the file; the tables' CHECKs allow no other names.
template <class Enum, std::size_t N>
Enum named(const std::array<Enum, N>& values, std::string_view (*name)(Enum),
           const std::string& text) {
  for (const Enum value : values)
    if (name(value) == text) return value;
  throw SQLite::Exception("unknown word \"" + text + "\" in table sessions", SQLITE_CORRUPT);
}

SessionStatus status_of(const std::string& text) {
  using enum SessionStatus;
  return named(std::array{recording, complete, stopped, interrupted, failed}, session_status_name,
               text);
}

SessionInfo read_info(SQLite::Statement& row) {
  SessionInfo info;
  int column = 0;
  const auto text = [&] { return row.getColumn(column++).getString(); };
  const auto number = [&] { return row.getColumn(column++).getInt64(); };
  info.session = number();
  info.header.name = text();
  info.header.kind =
      named(std::array{SessionKind::run, SessionKind::judge}, session_kind_name, text());
  info.status = status_of(text());
  info.status_reason = text();
  info.header.level = named(std::array{RecordLevel::counts, RecordLevel::blocks, RecordLevel::full},
                            record_level_name, text());
  info.created_us = number();
  info.program = text();
  info.header.source = text();
  info.header.model = text();
  info.header.engine = canonical_profile_name(text());
  info.header.parent_name = text();
  info.header.forked_at = number();
  info.note = text();
  info.num_steps = number();
  info.num_request_steps = number();
  info.num_errors = number();
  info.num_warnings = number();
  info.mamba_cache_mode = text();
  info.num_speculative_tokens = static_cast<std::int32_t>(number());
  info.header.check =
      named(std::array{CheckScope::step, CheckScope::all}, check_scope_name, text());
  info.header.digest_version = static_cast<std::int32_t>(number());
  info.header.keeps_count_resets = number() != 0;
  if (const std::string language = text(); !language.empty()) {
    auto read = read_speech_info_text(language);
    if (!read.ok()) throw SQLite::Exception(read.error().message, SQLITE_CORRUPT);
    info.header.language = std::move(read).value();
  }
  return info;
}

// The sessions whose recorder died before it wrote an end become `interrupted`. A recorder that
// ends writes its end first and is gone then; a connection of its own sees that end, though
// `sessions` may be from an older snapshot.
Status find_dead_recorders(const std::string& path, std::vector<SessionInfo>& sessions) {
  std::unique_ptr<SQLite::Database> now;
  for (SessionInfo& info : sessions) {
    if (info.status != SessionStatus::recording || has_living_recorder(path, info.created_us))
      continue;
    if (!now) {
      // Also asked when an interrupted recording is taken back.
      auto opened = open_database(path, {.access = FileAccess::read, .ends_when_asked = false});
      if (!opened.ok()) return opened.error();
      now = std::move(opened).value();
    }
    SQLite::Statement query(*now, "SELECT status FROM sessions WHERE session = ?");
    query.bind(1, info.session);
    if (!query.executeStep() || status_of(query.getColumn(0)) != SessionStatus::recording) continue;
    info.status = SessionStatus::interrupted;
    info.status_reason = "its recorder ended without recording an end, as when it is killed";
  }
  return Ok{};
}

Error no_such_session(const std::string& path, std::int64_t session) {
  return {ErrorKind::not_found, fmt::format("{}: no session number {}", path, session)};
}

Error no_such_bookmark(const std::string& path, std::int64_t bookmark) {
  return {ErrorKind::not_found, fmt::format("{}: the session has no bookmark {}", path, bookmark)};
}

// "a", "b" and 3 more.
std::string list_names(const std::vector<SessionInfo>& sessions) {
  constexpr std::size_t kMaxShown = 12;
  std::string text;
  for (std::size_t i = 0; i < sessions.size() && i < kMaxShown; ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", sessions[i].header.name);
  if (sessions.size() > kMaxShown) text += fmt::format(" and {} more", sessions.size() - kMaxShown);
  return text;
}

// Deletes table by table: through foreign keys, SQLite would look up each step of the session in
// each table.
bool remove_rows(SQLite::Database& database, std::int64_t session) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  execute(database, "UPDATE sessions SET parent = NULL WHERE parent = ?", session);
  bool found = false;
  for (const std::string& table : tables_of_sessions()) {
    const int rows = execute(database, "DELETE FROM " + table + " WHERE session = ?", session);
    found = found || (table == "sessions" && rows > 0);
  }
  transaction.commit();
  return found;
}

// Turns foreign keys off while it lives.
class NoForeignKeys {
 public:
  explicit NoForeignKeys(SQLite::Database& database) : database_(database) {
    database_.exec("PRAGMA foreign_keys = OFF");
  }
  ~NoForeignKeys() { database_.tryExec("PRAGMA foreign_keys = ON"); }
  NoForeignKeys(const NoForeignKeys&) = delete;
  NoForeignKeys& operator=(const NoForeignKeys&) = delete;

 private:
  SQLite::Database& database_;
};

}  // namespace

SessionFile::SessionFile(std::string path, std::unique_ptr<SQLite::Database> database)
    : path_(std::move(path)), database_(std::move(database)) {}
SessionFile::SessionFile(SessionFile&&) noexcept = default;
SessionFile& SessionFile::operator=(SessionFile&&) noexcept = default;
SessionFile::~SessionFile() = default;

Result<SessionFile> SessionFile::open(const std::string& path, FileAccess access,
                                      std::int64_t busy_timeout_ms) {
  auto database = open_database(path, {.access = access, .busy_timeout_ms = busy_timeout_ms});
  if (!database.ok()) return database.error();
  return SessionFile(path, std::move(database).value());
}

template <class Work>
auto SessionFile::guarded(Work&& work) const -> decltype(work()) {
  return catch_sqlite(path_, database_->getHandle(), std::forward<Work>(work));
}

Result<std::vector<SessionInfo>> SessionFile::sessions() const {
  return guarded([&]() -> Result<std::vector<SessionInfo>> {
    SQLite::Statement query(*database_,
                            fmt::format("SELECT {} FROM sessions ORDER BY session", kInfoColumns));
    std::vector<SessionInfo> sessions;
    while (query.executeStep()) sessions.push_back(read_info(query));
    if (Status found = find_dead_recorders(path_, sessions); !found.ok()) return found.error();
    return sessions;
  });
}

Result<SessionInfo> SessionFile::find(std::string_view name) const {
  auto all = sessions();
  if (!all.ok()) return all.error();
  if (all.value().empty())
    return Error{ErrorKind::not_found, fmt::format("{}: no session in it", path_)};
  for (SessionInfo& info : all.value()) {
    if (name.empty() ? &info != &all.value().back() : info.header.name != name) continue;
    return guarded([&]() -> Result<SessionInfo> {
      SQLite::Statement plan(*database_, "SELECT plan FROM sessions WHERE session = ?");
      plan.bind(1, info.session);
      if (plan.executeStep()) info.header.plan = plan.getColumn(0).getString();
      return std::move(info);
    });
  }
  return Error{ErrorKind::not_found, fmt::format("{}: no session \"{}\" in it, there is {}", path_,
                                                 name, list_names(all.value()))};
}

Status SessionFile::refuse_if_recorded(std::int64_t session) const {
  return guarded([&]() -> Status {
    SQLite::Statement query(*database_, "SELECT created_us, name FROM sessions WHERE session = ?");
    query.bind(1, session);
    if (!query.executeStep()) return no_such_session(path_, session);
    if (!has_living_recorder(path_, query.getColumn(0).getInt64())) return Ok{};
    return Error{ErrorKind::not_available,
                 fmt::format("{}: session \"{}\" is being recorded; end its recorder first", path_,
                             query.getColumn(1).getString())};
  });
}

Status SessionFile::remove(std::int64_t session) {
  if (Status free = refuse_if_recorded(session); !free.ok()) return free;
  return guarded([&]() -> Status {
    const NoForeignKeys none(*database_);
    if (!remove_rows(*database_, session)) return no_such_session(path_, session);
    return Ok{};
  });
}

Status SessionFile::rename(std::int64_t session, std::string_view name) {
  if (Status fits = check_session_name(name); !fits.ok()) return fits;
  if (Status free = refuse_if_recorded(session); !free.ok()) return free;
  return guarded([&]() -> Status {
    if (query_number(*database_, "SELECT count(*) FROM sessions WHERE name = ? AND session <> ?",
                     std::string(name), session) > 0)
      return invalid_input(fmt::format("{}: there is a session \"{}\" already", path_, name));
    if (execute(*database_, "UPDATE sessions SET name = ? WHERE session = ?", std::string(name),
                session) == 0)
      return no_such_session(path_, session);
    return Ok{};
  });
}

Status SessionFile::set_note(std::int64_t session, std::string_view note) {
  if (Status fits = check_note(note); !fits.ok()) return fits;
  return guarded([&]() -> Status {
    if (execute(*database_, "UPDATE sessions SET note = ? WHERE session = ?", std::string(note),
                session) == 0)
      return no_such_session(path_, session);
    return Ok{};
  });
}

Result<Bookmark> SessionFile::add_bookmark(std::int64_t session, std::int64_t step,
                                           std::string_view note) {
  if (Status fits = check_note(note); !fits.ok()) return fits.error();
  return guarded([&]() -> Result<Bookmark> {
    if (execute(*database_,
                "INSERT INTO bookmarks (session, step, note) SELECT session, step, ? FROM steps "
                "WHERE session = ? AND step = ?",
                std::string(note), session, step) == 0)
      return Error{ErrorKind::not_found,
                   fmt::format("{}: session number {} has no step {}", path_, session, step)};
    return Bookmark{
        .bookmark = database_->getLastInsertRowid(), .step = step, .note = std::string(note)};
  });
}

Status SessionFile::set_bookmark_note(std::int64_t session, std::int64_t bookmark,
                                      std::string_view note) {
  if (Status fits = check_note(note); !fits.ok()) return fits;
  return guarded([&]() -> Status {
    if (execute(*database_, "UPDATE bookmarks SET note = ? WHERE bookmark = ? AND session = ?",
                std::string(note), bookmark, session) == 0)
      return no_such_bookmark(path_, bookmark);
    return Ok{};
  });
}

Status SessionFile::remove_bookmark(std::int64_t session, std::int64_t bookmark) {
  return guarded([&]() -> Status {
    if (execute(*database_, "DELETE FROM bookmarks WHERE bookmark = ? AND session = ?", bookmark,
                session) == 0)
      return no_such_bookmark(path_, bookmark);
    return Ok{};
  });
}

Result<std::vector<Bookmark>> SessionFile::bookmarks(std::int64_t session) const {
  return guarded([&]() -> Result<std::vector<Bookmark>> {
    SQLite::Statement query(
        *database_,
        "SELECT bookmark, step, note FROM bookmarks WHERE session = ? ORDER BY step, bookmark");
    query.bind(1, session);
    std::vector<Bookmark> bookmarks;
    while (query.executeStep())
      bookmarks.push_back({.bookmark = query.getColumn(0).getInt64(),
                           .step = query.getColumn(1).getInt64(),
                           .note = query.getColumn(2).getString()});
    return bookmarks;
  });
}

namespace {

bool is_file(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

bool is_session_file_name(std::string_view file) {
  std::string lower(file);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::ranges::any_of(std::array{".db", ".db3", ".sqlite", ".sqlite3"},
                             [&](const char* ending) { return lower.ends_with(ending); });
}

SessionPlace parse_session_place(std::string_view text) {
  if (is_file(std::string(text))) return {.file = std::string(text), .name = {}};
  for (auto colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    const std::string file(text.substr(0, colon));
    if (is_session_file_name(file) || is_file(file))
      return {.file = file, .name = std::string(text.substr(colon + 1))};
  }
  return {.file = std::string(text), .name = {}};
}

namespace {

Result<EngineConfig> read_judge_config(const SessionInfo& info, const std::string& place) {
  TraceReader reader(place);
  const auto line = reader.read_line(std::string_view(info.header.plan), 1);
  if (!line) return line.error();
  if (line.value() != TraceLine::header)
    return Error{ErrorKind::corrupt, place + ": the plan of a judged session is not a header line"};
  return reader.header().config;
}

}  // namespace

Result<EngineConfig> read_session_config(const SessionInfo& info, const std::string& file) {
  const std::string place = file + ": plan of session '" + info.header.name + "'";
  if (info.header.kind == SessionKind::judge) return read_judge_config(info, place);
  auto setup = read_session_plan_setup(info.header.plan, place);
  if (!setup) return setup.error();
  return std::move(setup).value().config;
}

}  // namespace hybridscope
