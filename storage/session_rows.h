// The row of a session in a session file while it is recorded.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

struct NewSession {
  std::string file;  // for messages
  std::string name;  // empty: the source's, with a number that is free
  const SessionHeader& header;
  std::string program;
};

struct BegunSession {
  std::int64_t session = 0;
  std::int64_t created_us = 0;  // tells it from a later one that got its number
  std::string name;
};

// In a transaction of its own. Error invalid_input: the name is taken. Throws SQLite::Exception,
// as all here.
Result<BegunSession> insert_session(SQLite::Database& database, const NewSession& session);

// What the steps of a session add up to.
struct SessionTotals {
  std::int64_t num_steps = 0;
  std::int64_t num_request_steps = 0;
  std::int64_t num_errors = 0;
  std::int64_t num_warnings = 0;
  void add(const StepRecord& record);
};

// False: somebody has deleted the session.
bool update_totals(SQLite::Database& database, const BegunSession& session,
                   const SessionTotals& totals);
bool update_status(SQLite::Database& database, const BegunSession& session, SessionStatus status,
                   const std::string& reason);
// Is it still in the file?
bool is_there(SQLite::Database& database, const BegunSession& session);

}  // namespace hybridscope
