// The findings of a recorded session: grouped by what each follows from, with the known bug behind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/finding_list.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"

namespace hybridscope {

// Up to step `last`. Steps are read for roots only. Errors: those of the reader.
Result<FindingList> session_findings(SessionReader& reader, const Names& names,
                                     std::int64_t last = INT64_MAX);

// Finds the known bugs or the policies behind findings (find_causes), by running the session's plan
// again; empty for a session of `judge`, and for a plan that this version cannot read.
FindingList::FindCauses session_cause_finder(const SessionInfo& info);

// "hybridscope sessions show runs.db:before --step 12 --explain".
std::string show_step_words(const SessionPlace& place, std::int64_t step);

}  // namespace hybridscope
