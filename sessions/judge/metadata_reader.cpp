// Reads attn_metadata: the fields of a builder's metadata class, by name.
#include <fmt/core.h>

#include "core/metadata/builder_metadata.h"
#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

// The rows and columns of a traced array; a plain number is 1 x 1.
struct Shape {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};

// A 32-bit number, or a boolean as 0 or 1.
void push_value(const JsonValue& value, StepContext& context) {
  const std::optional<std::int64_t> number = value.whole();
  if (number && *number >= INT32_MIN && *number <= INT32_MAX)
    context.step.ids.push_back(static_cast<std::int32_t>(*number));
  else if (value.is_boolean())
    context.step.ids.push_back(value.boolean() ? 1 : 0);
  else
    value.expected("a number of 32 bits, true or false");
}

void push_values(const JsonValue& list, StepContext& context) {
  if (list.try_append_int32s(kAnyInt32, context.step.ids)) return;
  list.each_element([&](const JsonValue& value) { push_value(value, context); });
}

// [values] or [[values], ...] with rows of equal length.
Shape read_list(const JsonValue& value, StepContext& context) {
  Shape shape{.rows = 0, .cols = 1};
  const std::size_t first = context.step.ids.size();
  if (!value.is_array()) value.expected("an array");
  if (value.size() == 0) return shape;
  if (!value[std::size_t{0}].is_array()) {
    push_values(value, context);
    shape.rows = static_cast<std::int64_t>(context.step.ids.size() - first);
    return shape;
  }
  value.each_element([&](const JsonValue& row) {
    const std::size_t before = context.step.ids.size();
    push_values(row, context);
    const auto cols = static_cast<std::int64_t>(context.step.ids.size() - before);
    if (shape.rows++ == 0) shape.cols = cols;
    if (cols != shape.cols)
      row.fail(fmt::format("a row of length {}, expected {} as the first", cols, shape.cols));
  });
  return shape;
}

// {"shape": [rows] or [rows, cols], "data": a list or a list of rows}.
Shape read_shaped(const JsonValue& value, const JsonValue& dims, StepContext& context) {
  std::vector<std::int32_t> shape;
  dims.append_int32s({0, INT32_MAX}, shape);
  const JsonValue data = value.require("data");
  if (shape.empty() || shape.size() > 2)
    dims.fail(fmt::format("{} dimensions, expected 1 or 2", shape.size()));
  const std::size_t first = context.step.ids.size();
  read_list(data, context);
  const Shape result{.rows = shape[0], .cols = shape.size() == 2 ? shape[1] : 1};
  const auto count = static_cast<std::int64_t>(context.step.ids.size() - first);
  if (result.rows * result.cols != count)
    data.fail(fmt::format("length {}, expected {} x {}", count, result.rows, result.cols));
  return result;
}

class GroupReader {
 public:
  GroupReader(ForeignMetadata& metadata, StepContext& context)
      : metadata_(metadata), context_(context) {}

  // Reads the members of a metadata object, or of the object `path` inside it.
  void read_fields(const JsonValue& object, const std::string& path) {
    object.each_member([&](std::string_view key, const JsonValue& member) {
      const std::string name = path + std::string(key);
      const auto known = context_.metadata_fields.lower_bound(name);
      if (known == context_.metadata_fields.end() || !known->starts_with(name)) return;
      if (*known == name)
        read_field(member, name);
      else if ((*known)[name.size()] == '.' && !member.is_null())
        read_fields(member, name + '.');
    });
  }

 private:
  void read_field(const JsonValue& value, const std::string& name) {
    ForeignArray array;
    array.name = name;
    array.none = value.is_null();
    if (array.none) {
      metadata_.arrays.push_back(std::move(array));
      return;
    }
    const std::size_t first = context_.step.ids.size();
    const Shape shape = read_shape_and_values(value, array);
    array.rows = static_cast<std::int32_t>(shape.rows);
    array.cols = static_cast<std::int32_t>(shape.cols);
    array.values = {static_cast<std::uint32_t>(first),
                    static_cast<std::uint32_t>(context_.step.ids.size() - first)};
    metadata_.arrays.push_back(std::move(array));
  }

  Shape read_shape_and_values(const JsonValue& value, ForeignArray& array) {
    if (value.is_array()) return read_list(value, context_);
    if (const auto dims = value.find("shape")) return read_shaped(value, *dims, context_);
    array.scalar = true;
    push_value(value, context_);
    return {};
  }

  ForeignMetadata& metadata_;
  StepContext& context_;
};

// Fields that only some releases have are not listed while they are absent.
struct NamesOfReleases {
  std::set<std::string, std::less<>>& names;

  template <class T>
  void operator()(const MetadataField& field, const T&) const {
    if (field.listed_if_present) names.emplace(field.name);
  }
};

}  // namespace

std::set<std::string, std::less<>> metadata_field_names() {
  std::set<std::string, std::less<>> names;
  for (BuilderMetadata& metadata : every_kind_of_metadata()) {
    set_conv1d_present(metadata);
    for (const NamedArray& array : named_arrays(metadata)) names.emplace(array.name);
    for_each_field(metadata, NamesOfReleases{names});
  }
  return names;
}

void read_attn_metadata(const JsonValue& value, StepContext& context) {
  value.each_member([&](std::string_view key, const JsonValue& member) {
    const std::int32_t group = mamba_group(member, key, context);
    for (const ForeignMetadata& traced : context.step.attn_metadata)
      if (traced.group == group) member.fail("this group is listed twice");
    ForeignMetadata& metadata = context.step.attn_metadata.emplace_back();
    metadata.group = group;
    GroupReader(metadata, context).read_fields(member, "");
  });
}

}  // namespace hybridscope
