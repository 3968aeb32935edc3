// Reads attn_metadata: the fields of a builder's metadata class, by name.
#include <fmt/core.h>

#include "core/metadata/named_arrays.h"
#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

// The rows and columns of a traced array; a plain number is 1 x 1.
struct Shape {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
};

// A 32-bit number, or a boolean as 0 or 1.
void push_value(const LineValue& value, StepContext& context) {
  std::int64_t number = 0;
  bool flag = false;
  if (value.element.get(number) == simdjson::SUCCESS && number >= INT32_MIN && number <= INT32_MAX)
    context.step.ids.push_back(static_cast<std::int32_t>(number));
  else if (value.element.get(flag) == simdjson::SUCCESS)
    context.step.ids.push_back(flag ? 1 : 0);
  else
    fail_type(value, "a number of 32 bits, true or false", context.errors);
}

// [values] or [[values], ...] with rows of equal length.
Shape read_list(const LineValue& value, StepContext& context) {
  Shape shape{.rows = 0, .cols = 1};
  const std::size_t first = context.step.ids.size();
  simdjson::dom::array array;
  if (value.element.get(array) != simdjson::SUCCESS) {
    fail_type(value, "an array", context.errors);
    return shape;
  }
  if (array.begin() == array.end()) return shape;
  if (!(*array.begin()).is_array()) {
    for_each_element(value, context.errors, [&](const LineValue& e) { push_value(e, context); });
    shape.rows = static_cast<std::int64_t>(context.step.ids.size() - first);
    return shape;
  }
  for_each_element(value, context.errors, [&](const LineValue& row) {
    const std::size_t before = context.step.ids.size();
    for_each_element(row, context.errors, [&](const LineValue& e) { push_value(e, context); });
    const auto cols = static_cast<std::int64_t>(context.step.ids.size() - before);
    if (shape.rows++ == 0) shape.cols = cols;
    if (cols != shape.cols)
      fail(row, fmt::format("a row of length {}, expected {} as the first", cols, shape.cols),
           context.errors);
  });
  return shape;
}

// {"shape": [rows] or [rows, cols], "data": a list or a list of rows}.
Shape read_shaped(const LineValue& value, const LineValue& dims, StepContext& context) {
  std::vector<std::int32_t> shape;
  append_integers(dims, {0, INT32_MAX}, shape, context.errors);
  const std::optional<LineValue> data = require_member(value, "data", context.errors);
  if (!data || context.errors.failed()) return {};
  if (shape.empty() || shape.size() > 2)
    fail(dims, fmt::format("{} dimensions, expected 1 or 2", shape.size()), context.errors);
  const std::size_t first = context.step.ids.size();
  read_list(*data, context);
  if (context.errors.failed()) return {};
  const Shape result{.rows = shape[0], .cols = shape.size() == 2 ? shape[1] : 1};
  const auto count = static_cast<std::int64_t>(context.step.ids.size() - first);
  if (result.rows * result.cols != count)
    fail(*data, fmt::format("length {}, expected {} x {}", count, result.rows, result.cols),
         context.errors);
  return result;
}

class GroupReader {
 public:
  GroupReader(ForeignMetadata& metadata, StepContext& context)
      : metadata_(metadata), context_(context) {}

  // Reads the members of a metadata object, or of the object `path` inside it.
  void read_fields(const LineValue& object, const std::string& path) {
    for_each_member(object, context_.errors, [&](const LineValue& member) {
      const std::string name = path + std::string(member.key);
      const auto known = context_.metadata_fields.lower_bound(name);
      if (known == context_.metadata_fields.end() || !known->starts_with(name)) return;
      if (*known == name)
        read_field(member, name);
      else if ((*known)[name.size()] == '.' && !member.element.is_null())
        read_fields(member, name + '.');
    });
  }

 private:
  void read_field(const LineValue& value, const std::string& name) {
    ForeignArray array;
    array.name = name;
    array.none = value.element.is_null();
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

  Shape read_shape_and_values(const LineValue& value, ForeignArray& array) {
    if (value.element.is_array()) return read_list(value, context_);
    if (const auto dims = find_member(value, "shape")) return read_shaped(value, *dims, context_);
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

void read_attn_metadata(const LineValue& value, StepContext& context) {
  for_each_member(value, context.errors, [&](const LineValue& member) {
    const std::optional<std::int32_t> group = mamba_group(member, context);
    if (!group) return;
    for (const ForeignMetadata& traced : context.step.attn_metadata)
      if (traced.group == *group) return fail(member, "this group is listed twice", context.errors);
    ForeignMetadata& metadata = context.step.attn_metadata.emplace_back();
    metadata.group = *group;
    GroupReader(metadata, context).read_fields(member, "");
  });
}

}  // namespace hybridscope
