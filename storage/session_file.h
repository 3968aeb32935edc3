// A session file: one SQLite database that holds many sessions. Opening checks that it is one, and
// brings an older one up to date. Not thread-safe; open the file twice for two threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/session_header.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

// "runs.db:before the fix": the part behind the last ':' that follows ".db" or an existing file's
// name is the session's name; empty: none was given.
struct SessionPlace {
  std::string file;
  std::string name;
};
SessionPlace parse_session_place(std::string_view text);

// One row of `sessions`.
struct SessionInfo {
  std::int64_t session = 0;  // its number in the file
  SessionHeader header;      // plan: find() and SessionReader only; config: the latter only
  std::string mamba_cache_mode;
  std::int32_t num_speculative_tokens = 0;
  SessionStatus status = SessionStatus::recording;
  std::string status_reason;
  std::int64_t created_us = 0;  // Unix time
  std::string program;          // that wrote it: "hybridscope 0.1.0"
  std::string note;
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_errors = 0;  // findings
  std::int64_t num_warnings = 0;
};

struct Bookmark {
  std::int64_t bookmark = 0;
  std::int64_t step = 0;
  std::string note;
  friend bool operator==(const Bookmark&, const Bookmark&) = default;
};

enum class FileAccess : std::uint8_t {
  read,    // the file must exist; an older version is migrated where the file can be written and
           // refused where it cannot
  write,   // the file must exist; migrated when older
  create,  // made when it does not exist
};

class SessionFile {
 public:
  // Errors (each names the file): not_found, no such file or directory; corrupt, no SQLite file, a
  // database of another program, a truncated or damaged one, a newer version (which one, and which
  // this program knows); not_available, locked by another program for busy_timeout_ms, a read-only
  // file or directory, disk full. The file is untouched then.
  static Result<SessionFile> open(const std::string& path, FileAccess access,
                                  std::int64_t busy_timeout_ms = 10000);
  SessionFile(SessionFile&&) noexcept;
  SessionFile& operator=(SessionFile&&) noexcept;
  ~SessionFile();

  const std::string& path() const { return path_; }

  // In the order in which they were begun, without plans.
  Result<std::vector<SessionInfo>> sessions() const;
  // By name; an empty name is the one begun last. Error not_found, which lists the names there are.
  Result<SessionInfo> find(std::string_view name) const;

  // With everything of it; children keep their parent's name. Errors of the changes below: what
  // names no row (not_found), what text does not fit (invalid_input), what keeps from writing.
  Status remove(std::int64_t session);
  // A name that is taken is invalid_input.
  Status rename(std::int64_t session, std::string_view name);
  // Valid UTF-8 of at most kMaxNoteBytes; else an error.
  Status set_note(std::int64_t session, std::string_view note);
  // Error not_found: the session has no such step.
  Result<Bookmark> add_bookmark(std::int64_t session, std::int64_t step, std::string_view note);
  Status set_bookmark_note(std::int64_t session, std::int64_t bookmark, std::string_view note);
  Status remove_bookmark(std::int64_t session, std::int64_t bookmark);
  Result<std::vector<Bookmark>> bookmarks(std::int64_t session) const;  // by step

  // For the other units of storage.
  SQLite::Database& database() const { return *database_; }

 private:
  SessionFile(std::string path, std::unique_ptr<SQLite::Database> database);
  // What `work` answers; what SQLite throws in it is its error.
  template <class Work>
  auto guarded(Work&& work) const -> decltype(work());

  std::string path_;
  std::unique_ptr<SQLite::Database> database_;
};

inline constexpr std::size_t kMaxNameBytes = 200;
inline constexpr std::size_t kMaxNoteBytes = 1 << 20;

}  // namespace hybridscope
