// A scenario's run as lines of JSON, and the records that they were made of, for tests.
#pragma once

#include <string>
#include <vector>

#include "sessions/record/session_header.h"

namespace hybridscope::test {

struct ExportedRun {
  SessionHeader header;
  std::vector<std::string> lines;                 // header, steps, end
  std::vector<std::vector<std::string>> records;  // lines_of each step's record
};

// `file` of scenarios/.
ExportedRun export_run(const std::string& file, RecordLevel level);

// The records in the lines; the first error, if any, in `error`.
std::vector<std::vector<std::string>> read_lines(const std::vector<std::string>& lines,
                                                 std::string& error);

}  // namespace hybridscope::test
