// The requests of the shown step: state, tokens, blocks, counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

enum class RequestState : std::uint8_t {
  scheduled,  // has tokens in the step
  running,    // has blocks but no tokens in the step
  waiting,    // in the waiting queue
  preempted,  // in this step
  finished,   // in this step
};

// Numbers that are not known from the step are -1.
struct RequestRow {
  RequestId request{};
  std::string name;
  RequestState state = RequestState::running;
  std::string state_note;  // why it waits; "new", "resumed"
  std::int32_t num_prompt_tokens = -1;
  std::int32_t num_computed_tokens = -1;  // at the end of the step, as the scheduler counts
  std::int32_t num_scheduled_tokens = -1;
  std::int32_t num_generated = -1;   // tokens that have returned
  std::int32_t num_hit_tokens = -1;  // at its last admission
  std::int32_t num_blocks = 0;       // in all groups, without the null block
  std::int32_t num_preemptions = -1;
  std::int32_t num_draft_tokens = -1;     // of this step
  std::int32_t num_accepted_drafts = -1;  // accepted by this step's own sampling
};

struct RequestsModel {
  std::vector<RequestRow> rows;  // sorted
  std::int32_t num_waiting = 0;  // in the queue after scheduling, listed or not
  std::int32_t num_others = 0;   // known requests that are not listed
};

// "3 listed, 1 in the waiting queue; 2 others have no part in this step".
std::string listed_words(const RequestsModel& model);

// The requests that the step or its block tables name. Requires: run.step() > 0.
RequestsModel make_requests_model(ShownRun& run, const RequestsOptions& options);

// What requests are sorted by: "name", the order in which they came, and the other columns.
std::vector<std::string_view> request_sort_names();

// The list. Requires: a step is shown.
Picture requests_picture(Workbench& workbench);

}  // namespace hybridscope
