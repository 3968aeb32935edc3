// The sections of explain_step, one function per phase. A function adds nothing when it has nothing
// to say. For explain_step.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sessions/explain/explain_step.h"
#include "sessions/text/text_page.h"

namespace hybridscope::step_sections {

void add_commands(const StepToExplain& step, TextPage& page);  // explain_step_schedule.cpp
void add_schedule(const StepToExplain& step, TextPage& page);  // explain_step_schedule.cpp
void add_blocks(const StepToExplain& step, TextPage& page);    // explain_step_schedule.cpp
void add_tables(const StepToExplain& step, TextPage& page);    // explain_step_rows.cpp
void add_rows(const StepToExplain& step, TextPage& page);      // explain_step_rows.cpp
void add_graph(const StepToExplain& step, TextPage& page);     // explain_step_rows.cpp
void add_copies(const StepToExplain& step, const CopyLaunch& launch, TextPage& page);
void add_metadata(const StepToExplain& step, TextPage& page);   // explain_step_forward.cpp
void add_attention(const StepToExplain& step, TextPage& page);  // explain_step_forward.cpp
void add_forward(const StepToExplain& step, TextPage& page);    // explain_step_forward.cpp
void add_sample(const StepToExplain& step, TextPage& page);     // explain_step.cpp
void add_commit(const StepToExplain& step, TextPage& page);     // explain_step.cpp

// Level counts keeps how many tokens were scheduled, but not for which requests.
inline bool lacks_requests(const StepTrace& trace) {
  return trace.scheduled.empty() && trace.num_scheduled_tokens > 0;
}

// Another engine's trace says which requests it scheduled, but not the time, its queues, its step
// budget or the number of free blocks.
inline bool lacks_queues(const StepTrace& trace) {
  return trace.num_running == 0 && !trace.scheduled.empty();
}

// Width of the column for request names.
std::size_t name_width(const StepToExplain& step);

// "4 7-12 0 x5": ids in order; ascending runs and runs of the null block are shortened.
std::string id_list(std::span<const std::int32_t> ids);

}  // namespace hybridscope::step_sections
