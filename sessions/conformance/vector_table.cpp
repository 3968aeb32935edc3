#include "sessions/conformance/vector_table.h"

#include <fmt/core.h>

namespace hybridscope {

VectorTable read_table(const JsonValue& value) {
  VectorTable table;
  value.each_element([&](const JsonValue& row) {
    const std::vector<std::int32_t> values = row.int32s(table.rows == 0 ? -1 : table.cols);
    ++table.rows;
    table.cols = static_cast<std::int32_t>(values.size());
    table.data.insert(table.data.end(), values.begin(), values.end());
  });
  return table;
}

VectorTable read_table(const JsonValue& value, const JsonValue& shape) {
  const std::vector<std::int32_t> dims = shape.int32s(2);
  VectorTable found = read_table(value);
  if (found.rows == 0) found.cols = dims[1];
  if (dims[0] < 0 || dims[1] < 0 || found.rows != dims[0] || found.cols != dims[1])
    shape.fail(fmt::format("expected the shape of the table, [{}, {}], found [{}, {}]", found.rows,
                           found.cols, dims[0], dims[1]));
  return found;
}

}  // namespace hybridscope
