// Opens a scenario, session, trace or traffic file that the user names as a run to show.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
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

}  // namespace hybridscope
