// What can be opened without a path: built-in scenarios and lessons, and recent files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hybridscope {

// The sessions to choose from when a file is named without a session.

struct SessionChoice {
  std::string name;
  std::string place;  // "runs.db:before"
  std::string level;
  std::string status;  // session_status_name
  std::int64_t num_steps = 0;
  std::int64_t num_findings = 0;
};

// The one begun last comes first. Empty: `place` names one, or is not a session file.
std::vector<SessionChoice> session_choices(const std::string& place);

// "; other sessions in the file: bad, worse (open FILE.db:NAME)"; empty: there are none.
std::string other_sessions_words(const std::vector<SessionChoice>& choices);

struct StartEntry {
  std::string title;
  std::string teaches;  // one sentence; empty: unknown
  std::string path;
};

// The built-in scenarios and lessons; a scenario's path is "shipped:NAME", a lesson's its name.
std::vector<StartEntry> scenario_entries();
std::vector<StartEntry> lesson_entries();
// The known bugs: the path is an id, the sentence says which runner had the bug and when.
std::vector<StartEntry> known_bug_entries();
// The recent files that still exist and recent shipped scenarios, newest first; a session file's
// sentence says how its session ended ("interrupted after 12 steps"), or how many it has.
std::vector<StartEntry> recent_entries(const std::vector<std::string>& recent_files);

}  // namespace hybridscope
