// Opens whatever a person names as a run to be shown.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// Opens a file of traffic (Mooncake format) as a live run by the settings that nobody changed.

// Is the file's first line a request of traffic? False where it cannot be read.
bool is_traffic(const std::string& path);

Result<std::unique_ptr<ShownRun>> open_traffic(const std::string& path);

// In front of the name of a scenario that is part of the program.
inline constexpr std::string_view kShippedPrefix = "shipped:";

// In front of the id or number of a known bug: with the bug, and its healthy run.
inline constexpr std::string_view kBugPrefix = "bug:";
inline constexpr std::string_view kHealthyPrefix = "healthy:";

// SCENARIO.json, shipped:NAME, bug:ID or healthy:ID, a scenario that runs live; FILE.db[:NAME], a
// recorded session; TRACE.jsonl, decisions of another engine. Errors: those of the reader
// concerned, which name the file.
Result<std::unique_ptr<ShownRun>> open_run(const std::string& place);

}  // namespace hybridscope
