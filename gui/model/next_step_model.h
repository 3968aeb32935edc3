// What can be changed about the step behind the one that is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/planned_step.h"
#include "gui/model/workbench.h"

namespace hybridscope {

struct EditableRequest {
  RequestId request{};
  std::string name;
  bool runs = false;                         // it was in the step's batch
  std::int32_t max_num_accepted_tokens = 1;  // 1 + K
  // What is planned of it.
  std::int32_t accepts = 0;  // 0: nothing
  bool preempted = false;
  bool aborted = false;
};

// A policy with its values, as the command edit.policy takes them.
struct EditablePolicy {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> values;
  std::string value;  // in force; empty: that of the profile
};

struct NextStepModel {
  std::string why_not;                    // nothing can be changed; empty: it can
  std::int64_t step = 0;                  // the next one
  std::vector<EditableRequest> requests;  // that have not finished, as far as they have joined
  std::vector<EditablePolicy> policies;   // that may change while an engine runs
  PlannedStep planned;                    // by the script and by edits
  std::string undo;                       // what Undo would take back; empty: nothing
  std::string redo;
};

NextStepModel make_next_step_model(const Workbench& workbench);

}  // namespace hybridscope
