// A session file: one SQLite database with many sessions. Opening it checks that it is one and
// upgrades an older version. Not thread-safe; for two threads open the file twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

// Does the name end as session files do: .db, .db3, .sqlite or .sqlite3, in either case?
bool is_session_file_name(std::string_view file);

// "runs.db:before the fix": the session's name follows the last ':' after the name of a session
// file or of an existing file. Empty: no name was given.
struct SessionPlace {
  std::string file;
  std::string name;
};
SessionPlace parse_session_place(std::string_view text);

// One row of `sessions`.
struct SessionInfo {
  std::int64_t session = 0;  // its number in the file
  // Plan: only from find() and SessionReader; config: only from SessionReader.
  SessionHeader header;
  std::string mamba_cache_mode;
  std::int32_t num_speculative_tokens = 0;
  // `recording` only while its recorder lives (RecorderLock), else `interrupted`.
  SessionStatus status = SessionStatus::recording;
  std::string status_reason;
  std::int64_t created_us = 0;  // Unix time
  std::string program;          // that wrote it: "hybridscope 0.1.0"
  std::string note;
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_errors = 0;  // number of findings of severity error
  std::int64_t num_warnings = 0;
};

struct Bookmark {
  std::int64_t bookmark = 0;
  std::int64_t step = 0;
  std::string note;
  friend bool operator==(const Bookmark&, const Bookmark&) = default;
};

enum class FileAccess : std::uint8_t {
  read,   // the file must exist; an older version is upgraded if the file is writable, else refused
  write,  // the file must exist; an older version is upgraded
  create,  // the file is created if it does not exist
};

class SessionFile {
 public:
  // Errors (each names the file): not_found, no such file to read or write; corrupt, not an SQLite
  // file, another program's database, a truncated or damaged file, a newer version (the message has
  // both versions); not_available, locked by another program for busy_timeout_ms, a read-only file
  // or directory, no directory to create it in, disk full; invalid_input, a new file whose name is
  // no name of a session file. After an error the file is unchanged.
  static Result<SessionFile> open(const std::string& path, FileAccess access,
                                  std::int64_t busy_timeout_ms = 10000);
  SessionFile(SessionFile&&) noexcept;
  SessionFile& operator=(SessionFile&&) noexcept;
  ~SessionFile();

  const std::string& path() const { return path_; }

  // In the order in which they began, without plans.
  Result<std::vector<SessionInfo>> sessions() const;
  // By name; an empty name means the session begun last. Error not_found; the message lists the
  // names.
  Result<SessionInfo> find(std::string_view name) const;

  // Deletes the session and all of its rows; forks of it keep its name as their parent_name. Errors
  // of this and the functions below: not_found, no such row; invalid_input, invalid text;
  // not_available, the file cannot be written. Error of this and rename: not_available, the session
  // is being recorded.
  Status remove(std::int64_t session);
  // Error invalid_input: the name is taken.
  Status rename(std::int64_t session, std::string_view name);
  // The note must be valid UTF-8 of at most kMaxNoteBytes bytes.
  Status set_note(std::int64_t session, std::string_view note);
  // Error not_found: the session has no such step.
  Result<Bookmark> add_bookmark(std::int64_t session, std::int64_t step, std::string_view note);
  Status set_bookmark_note(std::int64_t session, std::int64_t bookmark, std::string_view note);
  Status remove_bookmark(std::int64_t session, std::int64_t bookmark);
  Result<std::vector<Bookmark>> bookmarks(std::int64_t session) const;  // ordered by step

  // For the other source files of storage.
  SQLite::Database& database() const { return *database_; }

 private:
  Status refuse_if_recorded(std::int64_t session) const;
  SessionFile(std::string path, std::unique_ptr<SQLite::Database> database);
  // Returns what `work` returns; turns an SQLite exception into an error.
  template <class Work>
  auto guarded(Work&& work) const -> decltype(work());

  std::string path_;
  std::unique_ptr<SQLite::Database> database_;
};

inline constexpr std::size_t kMaxNameBytes = 200;
inline constexpr std::size_t kMaxNoteBytes = 1 << 20;

// The engine settings of a recorded session, read from its plan.

// The plan of a run has its engine's settings; the plan of a judged session is its trace's header
// line. Error, with `file`: the plan cannot be read.
Result<EngineConfig> read_session_config(const SessionInfo& info, const std::string& file);

}  // namespace hybridscope
