// Every array that layers were given in a step, as values that stay when the run moves.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/metadata/named_arrays.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Of one KV-cache group's builder, by the names of the reference; group -1: of the whole batch.
struct NamedArrayGroup {
  std::int32_t group = -1;
  std::vector<NamedArray> arrays = {};

  // Null: there is none of this name.
  const NamedArray* find(std::string_view name) const;
};

struct StepArrays {
  std::int64_t step = 0;  // 0: of no step
  std::vector<NamedArrayGroup> groups;

  const NamedArrayGroup* find(std::int32_t group) const;
};

// The batch first, then each group that has metadata. Block tables are not among them: they stand
// in the trace. Costs a copy of all values; the largest are those of mode all, rows x columns.
StepArrays step_arrays(const StepTrace& trace);

// Element number `index`, row-major; `fill` behind what the array has. Requires: index < size.
std::int64_t element_at(const NamedArray& array, std::int64_t index);
// Elements by its dims; 1 for a plain number.
std::int64_t num_elements(const NamedArray& array);

}  // namespace hybridscope
