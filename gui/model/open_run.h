// Opens a scenario, session, trace or traffic file that the user names as a run to show; what can
// be opened without a path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/text/command_files.h"

namespace hybridscope {

// Does the file begin as traffic does? False if it cannot be read.
bool is_traffic(const std::string& path);

// Opens a file of traffic as a live run with default settings, at the times that the file has.
Result<std::unique_ptr<ShownRun>> open_traffic(const std::string& path);

// The prefix of a shipped scenario's name.
inline constexpr std::string_view kShippedPrefix = "shipped:";

// The prefixes of a known bug's id or number: the faulty run, and the healthy run.
inline constexpr std::string_view kBugPrefix = "bug:";
inline constexpr std::string_view kHealthyPrefix = "healthy:";

// SCENARIO.json, shipped:NAME, bug:ID or healthy:ID, a scenario that runs live; FILE.db[:NAME], a
// recorded session; TRACE.jsonl, decisions of another engine; a traffic file. Errors: those of the
// reader concerned, which name the file.
Result<std::unique_ptr<ShownRun>> open_run(const std::string& place);

// The file that open_run() reads; its path is empty for what ships with the program.
InputFile opened_file(const std::string& place);

// Decisions of another engine as a run to show: judged once, and kept in a temporary session file
// that is deleted with the run.

// The first trace of TRACE.jsonl[.zst]. Errors: those of TraceReader and TraceJudge, with file and
// line; a file without a step; no room for the session in the folder for temporary files.
Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path);

// What can be opened without a path: built-in scenarios and lessons, and recent files.

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
// A click opens one.
Table sessions_table(const std::vector<SessionChoice>& choices);

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
