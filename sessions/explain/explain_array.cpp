#include "sessions/explain/explain_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hybridscope {

std::string_view array_dtype_name(ArrayDtype dtype) {
  switch (dtype) {
    case ArrayDtype::boolean:
    case ArrayDtype::host_bool:
      return "bool";
    case ArrayDtype::int32:
      return "int32";
    case ArrayDtype::int64:
      return "int64";
    case ArrayDtype::host_int:
      return "int";
  }
  return {};
}

std::string array_shape(const NamedArray& array) {
  return fmt::format("[{}]", fmt::join(array.dims, ","));
}

std::string replay_words(const GroupTrace& group, std::int64_t step) {
  if (group.persistent_buffers_step == step) return "refreshed in this step";
  if (group.persistent_buffers_step > 0)
    return fmt::format("not refreshed since step {}", group.persistent_buffers_step);
  return "never refreshed since the capture";
}

}  // namespace hybridscope
