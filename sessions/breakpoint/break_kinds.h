// Builds the rows of the table of kinds: one list gives both the fields and their values. For the
// source files that hold the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sessions/breakpoint/break_fields.h"
#include "sessions/record/value_names.h"

namespace hybridscope::break_kinds_of {

// Collects the names and types of the fields it visits.
struct FieldLister {
  std::vector<BreakField>& fields;

  template <class T>
  void operator()(std::string_view name, const T&) {
    BreakField field{.name = std::string(name), .type = BreakType::number, .words = {}};
    if constexpr (std::is_same_v<T, bool>) {
      field.type = BreakType::flag;
    } else if constexpr (std::is_same_v<T, RequestId>) {
      field.type = BreakType::request;
    } else if constexpr (std::is_same_v<T, Rule>) {
      field.type = BreakType::word;
      for (const RuleInfo& rule : rule_table()) field.words.push_back(rule.slug);
    } else if constexpr (std::is_enum_v<T>) {
      field.type = BreakType::word;
      for (std::int32_t code = 0; code < num_codes<T>(); ++code)
        field.words.push_back(value_names::name(static_cast<T>(code)));
    }
    if constexpr (!std::is_same_v<T, std::string_view>) fields.push_back(std::move(field));
  }
};

// Reads the values of the same fields.
struct ValueReader {
  std::vector<std::int64_t>& values;

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      values.push_back(value.value);
    else if constexpr (!std::is_same_v<T, std::string_view>)
      values.push_back(static_cast<std::int64_t>(value));
  }
};

// Adds elements one by one and reuses the storage of earlier ones.
class Collector {
 public:
  explicit Collector(std::vector<BreakElement>& elements) : elements_(elements) {}

  // fields(visit) calls visit(name, value) for each field of the element.
  template <class Fields>
  void add(RequestId request, std::size_t index, Fields&& fields) {
    if (count_ == elements_.size()) elements_.emplace_back();
    BreakElement& element = elements_[count_++];
    element.request = request;
    element.index = static_cast<std::int32_t>(index);
    element.values.clear();
    fields(ValueReader{element.values});
  }
  std::size_t count() const { return count_; }

 private:
  std::vector<BreakElement>& elements_;
  std::size_t count_ = 0;
};

// A sample value whose fields are listed.
template <class T>
inline const T kSample{};

// A kind whose elements each(step, show) passes to show(request, index, fields).
template <class Sample, class Each>
BreakKind make_kind(std::string_view name, std::string_view meaning, Sample&& sample, Each each) {
  BreakKind kind{.name = name, .meaning = meaning, .fields = {}, .collect = {}};
  sample(FieldLister{kind.fields});
  kind.collect = [each](const BreakStep& step, std::vector<BreakElement>& elements) {
    Collector collector(elements);
    each(step, collector);
    return collector.count();
  };
  return kind;
}

// A kind whose elements are those of one list of the step: list(step), each with a request.
template <class T, class List, class Fields>
BreakKind list_kind(std::string_view name, std::string_view meaning, List list, Fields fields) {
  return make_kind(
      name, meaning, [fields](auto visit) { fields(kSample<T>, visit); },
      [list, fields](const BreakStep& step, Collector& out) {
        for (const T& item : list(step))
          out.add(item.request, out.count(), [&](auto visit) { fields(item, visit); });
      });
}

// Blocks, block tables and metadata; in break_memory_kinds.cpp.
BreakKind block_kind();
BreakKind write_kind();
BreakKind table_kind();
BreakKind state_copy_kind();
BreakKind metadata_kind();

}  // namespace hybridscope::break_kinds_of
