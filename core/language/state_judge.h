// Compares what rows read and wrote with the lone runs of their requests, bit for bit (numerics:
// two forms and health; form recurrent, float32).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/language/group_rows.h"
#include "core/language/language_values.h"
#include "core/language/numeric_memory.h"
#include "core/numeric/lone_run.h"

namespace hybridscope {

// Appends the differences of one place, in the order of the layers of its group. `truth`: [layers]
// of the model.
struct JudgedPlace {
  const RowState& place;
  std::int32_t group = -1;
  const std::vector<LayerStates>& truth;
};
void append_differences(const NumericMemory& memory, const JudgedPlace& judged,
                        std::vector<StateDifference>& out);

}  // namespace hybridscope
