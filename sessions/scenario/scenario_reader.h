// Reads scenario files and texts into Scenario values, and writes them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

struct ScenarioText {
  std::string_view text;
  std::string_view file;  // for messages
};

// Error corrupt with "FILE:LINE:COLUMN: ...": not JSON. Error invalid_input with "FILE: POINTER:
// ...": unknown keys, wrong types, values out of range, settings that exclude each other, unknown
// models, rules or requests, duplicate names, circular sharing or sharing past the end of a
// sequence, prompts and counts that the settings do not allow. A scenario that is returned can be
// resolved.
Result<Scenario> parse_scenario(const ScenarioText& scenario);

// Reads a scenario inside another document. A JsonFault says what parse_scenario would.
Scenario read_inner_scenario(const JsonValue& place);

// A scenario without a name gets the file's stem. Error io: the file cannot be read.
Result<Scenario> read_scenario_file(const std::string& path);

// Repeats the checks between parts for a scenario that was made or changed in memory (for example
// by settings of the command line). Errors: those of parse_scenario, with "scenario" as the file.
Status check_scenario(const Scenario& scenario);

// Writes Scenario values as the text of a scenario file.

// Settings, prompts and optional parts with their default value are left out. Requests and script
// steps take one line each. parse_scenario(write_scenario(s)) equals s.
std::string write_scenario(const Scenario& scenario);

}  // namespace hybridscope
