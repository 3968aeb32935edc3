// Names of a trace's enums, the same in all tables, texts and files.
#pragma once

#include <string_view>

#include "core/metadata/row_class.h"
#include "core/trace/schedule_trace.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

std::string_view row_class_name(RowClass row_class);   // "decode", "verify", ...
std::string_view admission_name(Admission admission);  // "running", "new", "resumed"

std::string_view row_origin_name(RowOrigin origin);           // "kept", "moved", ...
std::string_view commit_outcome_name(CommitOutcome outcome);  // "taken", "chunk", ...
std::string_view command_name(CommandKind command);           // "add_request", "preempt", ...

}  // namespace hybridscope
