// Records and runs for tests of session files: records as lines, one per field, to compare two of
// them readably; drawn runs; runs as lines of JSON.
#pragma once

#include <string>
#include <vector>

#include "sessions/record/record_views.h"
#include "sessions/record/step_record.h"
#include "sessions/run/run_plan.h"

namespace hybridscope::test {

// "rows[2].num_computed_tokens=17", in a fixed order.
std::vector<std::string> lines_of(const StepRecord& record);

// "request 3 group 0: 4 7 9", tables, deferred blocks and counts.
std::vector<std::string> lines_of(const BlockTableMirror& tables);
std::vector<std::string> lines_of(const WorkerTables& tables);

// Inside a property only: a model with a recurrent and an attention group under drawn settings,
// with a few conversations that share prompts, in a pool that can be too small for all of them; the
// script preempts, aborts and resets.
RunPlan drawn_run();

// A scenario's run as lines of JSON, and the records that they were made of.
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
