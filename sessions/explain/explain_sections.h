// The sections of explain_step, one function a phase; each adds nothing where there is nothing to
// tell. For explain_step.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sessions/explain/explain_step.h"
#include "sessions/text/text_page.h"

namespace hybridscope::step_sections {

void add_commands(const StepToExplain& step, TextPage& page);  // explain_step_schedule.cpp
void add_schedule(const StepToExplain& step, TextPage& page);  // explain_step_schedule.cpp
void add_blocks(const StepToExplain& step, TextPage& page);    // explain_step_blocks.cpp
void add_tables(const StepToExplain& step, TextPage& page);    // explain_step_tables.cpp
void add_rows(const StepToExplain& step, TextPage& page);      // explain_step_rows.cpp
void add_graph(const StepToExplain& step, TextPage& page);     // explain_step_rows.cpp
void add_copies(const StepToExplain& step, const CopyLaunch& launch, TextPage& page);
void add_metadata(const StepToExplain& step, TextPage& page);   // explain_step_metadata.cpp
void add_attention(const StepToExplain& step, TextPage& page);  // explain_step_forward.cpp
void add_forward(const StepToExplain& step, TextPage& page);    // explain_step_forward.cpp
void add_sample(const StepToExplain& step, TextPage& page);     // explain_step_rows.cpp
void add_commit(const StepToExplain& step, TextPage& page);     // explain_step_rows.cpp

// Level counts keeps how many tokens were scheduled, and not for whom.
inline bool lacks_requests(const StepTrace& trace) {
  return trace.scheduled.empty() && trace.num_scheduled_tokens > 0;
}

// The trace of another engine tells whom it scheduled, and neither the time nor its queues, its
// step budget and how many blocks are free.
inline bool lacks_queues(const StepTrace& trace) {
  return trace.num_running == 0 && !trace.scheduled.empty();
}

// Width of the column with request names.
std::size_t name_width(const StepToExplain& step);

// "1 draft", "2 drafts".
std::string counted(std::int64_t count, std::string_view noun);

// "4 7-12 0 x5": ids in their order, runs that ascend by one and runs of the null block written
// short.
std::string id_list(std::span<const std::int32_t> ids);

}  // namespace hybridscope::step_sections
