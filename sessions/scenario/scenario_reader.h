// Scenario files and texts into Scenario values.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/scenario/scenario.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

struct ScenarioText {
  std::string_view text;
  std::string_view file;  // for messages
};

// Error corrupt with "FILE:LINE:COLUMN: ..." for what is no JSON; error invalid_input with "FILE:
// POINTER: ..." for unknown keys, wrong types, values out of range, settings that exclude each
// other, a model, rules and requests that are unknown, names used twice, sharing in a circle or
// beyond a sequence's end, prompts and counts that the settings cannot serve. Whatever is returned
// can be resolved.
Result<Scenario> parse_scenario(const ScenarioText& scenario);

// A scenario that stands inside another document at `pointer`. Errors as parse_scenario's, with
// that document's file and pointers.
Result<Scenario> read_inner_scenario(const JsonPlace& place, const std::string& file);

// A scenario without a name is named after the file (its stem). Error io when the file cannot be
// read.
Result<Scenario> read_scenario_file(const std::string& path);

// The checks between parts of a scenario once more, for one that was made or changed in memory
// (say, by settings of the command line). Errors as parse_scenario's, with "scenario" for the file.
Status check_scenario(const Scenario& scenario);

}  // namespace hybridscope
