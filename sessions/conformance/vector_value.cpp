#include "sessions/conformance/vector_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

// Element `index` of an array of integers; its pointer is built only for an error.
std::int64_t integer_at(const VectorValue& array, std::size_t index, std::int64_t min,
                        std::int64_t max) {
  const std::optional<std::int64_t> number = whole_number(array.json()[index]);
  if (number && *number >= min && *number <= max) return *number;
  return array[index].int64_in(min, max);
}

}  // namespace

VectorError::VectorError(std::string pointer, std::string message)
    : pointer_(std::move(pointer)), message_(std::move(message)) {}

void VectorValue::fail(const std::string& message) const { throw VectorError(pointer_, message); }

void VectorValue::expected(std::string_view what) const {
  fail(fmt::format("expected {}, found {}", what, describe_json(*json_)));
}

VectorValue VectorValue::operator[](std::string_view key) const {
  if (!json_->is_object()) expected("an object");
  const auto member = json_->find(std::string(key));
  if (member == json_->end()) fail(fmt::format("no member \"{}\"", key));
  return VectorValue(*member, child_pointer(pointer_, key));
}

VectorValue VectorValue::operator[](std::size_t index) const {
  if (!json_->is_array()) expected("an array");
  if (index >= size()) fail(fmt::format("expected more than {} elements, found {}", index, size()));
  return VectorValue((*json_)[index], child_pointer(pointer_, index));
}

std::optional<VectorValue> VectorValue::find(std::string_view key) const {
  if (!json_->is_object()) expected("an object");
  const auto member = json_->find(std::string(key));
  if (member == json_->end() || member->is_null()) return std::nullopt;
  return VectorValue(*member, child_pointer(pointer_, key));
}

std::int32_t VectorValue::int32() const { return int32_in(kMinInt32, kMaxInt32); }

std::int32_t VectorValue::int32_in(std::int32_t min, std::int32_t max) const {
  return static_cast<std::int32_t>(int64_in(min, max));
}

std::int64_t VectorValue::int64() const {
  return int64_in(std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max());
}

std::int64_t VectorValue::int64_in(std::int64_t min, std::int64_t max) const {
  const std::optional<std::int64_t> number = whole_number(*json_);
  if (!number || *number < min || *number > max)
    expected(fmt::format("an integer from {} to {}", min, max));
  return *number;
}

double VectorValue::number() const {
  if (!json_->is_number()) expected("a number");
  return json_->get<double>();
}

bool VectorValue::boolean() const {
  if (!json_->is_boolean()) expected("true or false");
  return json_->get<bool>();
}

std::string VectorValue::string() const {
  if (!json_->is_string()) expected("a string");
  return json_->get<std::string>();
}

std::size_t VectorValue::one_of(std::initializer_list<std::string_view> names) const {
  const std::string name = string();
  const auto* found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) expected(fmt::format("one of {}", fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::int64_t> VectorValue::int64s(std::int64_t length) const {
  if (!json_->is_array()) expected("an array of integers");
  if (length >= 0 && size() != static_cast<std::size_t>(length))
    expected(fmt::format("an array of {} integers", length));
  std::vector<std::int64_t> values(size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = integer_at(*this, i, std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max());
  return values;
}

std::vector<std::int32_t> VectorValue::int32s(std::int64_t length) const {
  if (!json_->is_array()) expected("an array of integers");
  if (length >= 0 && size() != static_cast<std::size_t>(length))
    expected(fmt::format("an array of {} integers", length));
  std::vector<std::int32_t> values(size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(integer_at(*this, i, kMinInt32, kMaxInt32));
  return values;
}

std::vector<std::string> VectorValue::strings() const {
  std::vector<std::string> values;
  for (const VectorValue& element : elements()) values.push_back(element.string());
  return values;
}

VectorTable VectorValue::table() const {
  VectorTable table;
  const std::vector<VectorValue> rows = elements();
  table.rows = static_cast<std::int32_t>(rows.size());
  for (const VectorValue& row : rows) {
    const std::vector<std::int32_t> values =
        row.int32s(&row == rows.data() ? -1 : std::int64_t{table.cols});
    table.cols = static_cast<std::int32_t>(values.size());
    table.data.insert(table.data.end(), values.begin(), values.end());
  }
  return table;
}

VectorTable VectorValue::table(const VectorValue& shape) const {
  const std::vector<std::int32_t> dims = shape.int32s(2);
  VectorTable found = table();
  if (found.rows == 0) found.cols = dims[1];
  if (dims[0] < 0 || dims[1] < 0 || found.rows != dims[0] || found.cols != dims[1])
    shape.fail(fmt::format("expected the shape of the table, [{}, {}], found [{}, {}]", found.rows,
                           found.cols, dims[0], dims[1]));
  return found;
}

std::vector<VectorValue> VectorValue::elements() const {
  if (!json_->is_array()) expected("an array");
  std::vector<VectorValue> values;
  values.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i)
    values.emplace_back((*json_)[i], child_pointer(pointer_, i));
  return values;
}

std::vector<std::pair<std::string, VectorValue>> VectorValue::members() const {
  if (!json_->is_object()) expected("an object");
  std::vector<std::pair<std::string, VectorValue>> values;
  for (auto member = json_->begin(); member != json_->end(); ++member)
    values.emplace_back(member.key(), VectorValue(*member, child_pointer(pointer_, member.key())));
  return values;
}

std::size_t VectorValue::size() const {
  if (!json_->is_array() && !json_->is_object()) expected("an array");
  return json_->size();
}

}  // namespace hybridscope
