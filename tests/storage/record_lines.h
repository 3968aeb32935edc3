// A step record as lines, one per field, to compare two records readably.
#pragma once

#include <string>
#include <vector>

#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"

namespace hybridscope::test {

// "rows[2].num_computed_tokens=17", in a fixed order.
std::vector<std::string> lines_of(const StepRecord& record);

// "request 3 group 0: 4 7 9", tables, deferred blocks and counts.
std::vector<std::string> lines_of(const BlockTableMirror& tables);
std::vector<std::string> lines_of(const WorkerTables& tables);

}  // namespace hybridscope::test
