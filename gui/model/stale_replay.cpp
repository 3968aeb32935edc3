#include "gui/model/stale_replay.h"

#include "sessions/explain/explain_parts.h"

namespace hybridscope {

std::string stale_words(const GroupTrace& group, std::int64_t step) {
  return replay_words(group, step) +
         "; it finds what is left in its buffers, not the values of this step. What blocks hold is "
         "shown as if it had read the values of this step, which is an assumption";
}

const NamedArray* left_in_buffers(const NamedStepArrays& before, const GroupTrace& group,
                                  std::string_view name) {
  if (before.step == 0 || before.step != group.persistent_buffers_step) return nullptr;
  const NamedArrayGroup* of_group = before.find(group.group);
  const NamedArray* array = of_group == nullptr ? nullptr : of_group->find(name);
  return array != nullptr && array->present ? array : nullptr;
}

}  // namespace hybridscope
