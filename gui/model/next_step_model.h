// What can be changed about the step after the shown one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edits.h"
#include "gui/model/picture.h"
#include "gui/model/workbench.h"

namespace hybridscope {

class Workbench;

struct EditableRequest {
  RequestId request{};
  std::string name;
  bool runs = false;                         // it was in the step's batch
  std::int32_t max_num_accepted_tokens = 1;  // 1 + K
  // What is planned for it.
  std::int32_t accepts = 0;  // 0: not set
  bool preempted = false;
  bool aborted = false;
};

struct EditablePolicy {
  std::size_t place = 0;  // in PolicyOverrides
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> values;
  std::string value;  // in force; empty: the profile's

  // The override that sets the policy to values[number].
  PolicyOverrides with_value(std::size_t number) const {
    PolicyOverrides overrides;
    overrides.values[place] = static_cast<std::uint8_t>(number);
    return overrides;
  }
};

struct EditableProfile {
  EngineProfile profile;
  std::string name;  // "vllm-0.33.0"
};

struct NextStepModel {
  std::string why_not;                    // why nothing can be changed; empty: it can
  std::int64_t step = 0;                  // the next one
  std::vector<EditableRequest> requests;  // that have joined and not finished
  std::vector<EditablePolicy> policies;   // that may change while an engine runs
  PlannedStep planned;                    // from the script and from edits
  std::vector<std::string> coming;        // what it does if nothing is changed, a line each
  std::vector<EditableProfile> profiles;  // to choose from
  std::string profile;                    // in force, also if it is none of these
  std::string profile_note;  // what a change of the profile did not change; empty: nothing
  std::string undo;          // what Undo would undo; empty: nothing
  std::string redo;
};

NextStepModel make_next_step_model(Workbench& workbench);

// "A: decode, 1 token", one line for each request that has a part in the step; or that there is
// none.
std::vector<std::string> coming_words(const ComingStep& coming);

// What the panel shows. Requires: a step is shown.
Picture next_step_picture(Workbench& workbench);

}  // namespace hybridscope
