// What layers were given, in words: an array's dtype and shape, and what a replayed graph finds in
// the arrays it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/metadata/named_arrays.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// "int32", "bool": as the reference calls it, also of plain numbers.
std::string_view array_dtype_name(ArrayDtype dtype);
// "[4,3]"; "[]" of a plain number.
std::string array_shape(const NamedArray& array);
// "refreshed in this step", "not refreshed since step 3". `step`: the one that replays.
std::string replay_words(const GroupTrace& group, std::int64_t step);

}  // namespace hybridscope
