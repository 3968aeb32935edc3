// Metadata arrays in words: dtype and shape, and what a replayed graph finds in the arrays it
// reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/metadata/builder_metadata.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// "int32", "bool": the reference's name, also for plain numbers.
std::string_view array_dtype_name(ArrayDtype dtype);
// "[4,3]"; "[]" for a plain number.
std::string array_shape(const NamedArray& array);
// "refreshed in this step", "not refreshed since step 3". `step`: the step that replays the graph.
std::string replay_words(const GroupTrace& group, std::int64_t step);

}  // namespace hybridscope
