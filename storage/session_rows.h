// The row of a session in its file while it is recorded, and the lock that shows that its recorder
// lives.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Tells a living recorder from one that died. A recorder locks one byte of FILE.db-lock until it
// ends; its offset is the time at which the session began (sessions.created_us). The system frees
// it when the process dies, however that happens. FILE.db itself cannot be used: closing it would
// free SQLite's own locks.
//
// The last recorder that ends removes FILE.db-lock; a killed one leaves it behind without locks. A
// process that a recorder forked keeps the lock until it ends too or runs another program.

class RecorderLock {
 public:
  RecorderLock() = default;  // holds nothing
  // `created_us`: Unix time, microseconds. Errors not_available: the file cannot be made or locked;
  // another session of the file began at this time.
  static Result<RecorderLock> acquire(const std::string& database, std::int64_t created_us);
  RecorderLock(RecorderLock&& other) noexcept;
  RecorderLock& operator=(RecorderLock&& other) noexcept;
  ~RecorderLock() { release(); }

  void release();

 private:
  RecorderLock(std::string file, int descriptor);

  std::string file_;
  int descriptor_ = -1;  // -1: holds nothing
};

// Is the recorder alive of the session that began then? Also true where that cannot be found out:
// a lock file that this user cannot read.
bool has_living_recorder(const std::string& database, std::int64_t created_us);

}  // namespace hybridscope

namespace hybridscope {

// Runs a statement with these parameters; returns how many rows it changed. Throws
// SQLite::Exception.
template <class... Parameters>
int execute(SQLite::Database& database, const std::string& sql, const Parameters&... parameters) {
  SQLite::Statement statement(database, sql);
  SQLite::bind(statement, parameters...);
  return statement.exec();
}

// The number that a query with these parameters gives first. Throws SQLite::Exception.
template <class... Parameters>
std::int64_t query_number(SQLite::Database& database, const std::string& sql,
                          const Parameters&... parameters) {
  SQLite::Statement query(database, sql);
  SQLite::bind(query, parameters...);
  query.executeStep();
  return query.getColumn(0).getInt64();
}

struct NewSession {
  std::string file;  // for messages
  std::string name;  // empty: made from the source, with a free number
  const SessionHeader& header;
  std::string program;
};

struct BegunSession {
  std::int64_t session = 0;
  std::int64_t created_us = 0;  // distinguishes it from a later session with the same number
  std::string name;
  RecorderLock lock;  // shows that it is being recorded
};

// Runs in its own transaction; the session is locked before anybody sees it. Errors: invalid_input,
// the name is taken; those of RecorderLock. All functions here throw SQLite::Exception.
Result<BegunSession> insert_session(SQLite::Database& database, const NewSession& session);

// Totals over the steps of a session.
struct SessionRowTotals {
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_errors = 0;
  std::int64_t num_warnings = 0;
  void add(const StepRecord& record);
};

// False: the session has been deleted.
bool update_totals(SQLite::Database& database, const BegunSession& session,
                   const SessionRowTotals& totals);
bool update_status(SQLite::Database& database, const BegunSession& session, SessionStatus status,
                   const std::string& reason);
// Is the session still in the file?
bool is_there(SQLite::Database& database, const BegunSession& session);

// Checks text that users write into a session file: names and notes.

// Error invalid_input: empty, longer than kMaxNameBytes, control characters, invalid UTF-8.
Status check_session_name(std::string_view name);
// Error invalid_input: longer than kMaxNoteBytes, a zero byte, invalid UTF-8. Everything else,
// including newlines and HTML, is kept unchanged.
Status check_note(std::string_view note);

// The default name of a session: its source's file name without folder and ending, changed to pass
// check_session_name and to leave room for a number after it.
std::string name_of_source(std::string_view source);

}  // namespace hybridscope
