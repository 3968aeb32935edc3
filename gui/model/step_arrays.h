// Every array that layers were given in a step, copied so that they survive a move of the run.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/metadata/builder_metadata.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The arrays of one KV cache group's builder, under the reference's names; group -1: the batch.
struct NamedArrayGroup {
  std::int32_t group = -1;
  std::vector<NamedArray> arrays = {};

  // The array of this name; null: there is none.
  const NamedArray* find(std::string_view name) const;
};

struct NamedStepArrays {
  std::int64_t step = 0;  // 0: no step
  std::vector<NamedArrayGroup> groups;

  const NamedArrayGroup* find(std::int32_t group) const;
};

// The batch first, then each group that has metadata; without block tables, which are in the trace.
// Costs a copy of all values; the largest arrays are those of mode all, rows x columns.
NamedStepArrays step_arrays(const StepTrace& trace);

// Element `index`, row-major; `fill` past the stored values. Requires: index < size.
std::int64_t element_at(const NamedArray& array, std::int64_t index);
// The product of its dims; 1 for a plain number.
std::int64_t num_elements(const NamedArray& array);
// 1 unless it is a matrix.
inline std::int64_t num_columns(const NamedArray& array) {
  return array.dims.size() == 2 ? array.dims[1] : 1;
}

}  // namespace hybridscope
