// One element of an array: which row it belongs to and what is told of it.
#include <fmt/format.h>

#include "core/metadata/persistent_buffer.h"
#include "gui/model/metadata_model.h"

namespace hybridscope {

std::vector<Fact> describe_element(ShownRun& run, const MetadataSection& section,
                                   const MetadataArray& array, std::int64_t index) {
  const StepView view = run.view();
  const std::int64_t row = index / array.num_columns();
  const std::int64_t column = index % array.num_columns();
  std::vector<Fact> facts{
      {"element", array.array.dims.size() == 2 ? fmt::format("[{}, {}]", row, column)
                                               : fmt::format("[{}]", row)},
      {"value", element_text(element_at(array.array, index))}};
  const NamedArrayGroup* before = run.previous_arrays().find(section.group);
  const NamedArray* old = before == nullptr ? nullptr : before->find(array.array.name);
  if (array.is_changed(index) && old != nullptr) {
    const bool was_there = old->present && old->dims == array.array.dims;
    facts.push_back({"before", was_there ? element_text(element_at(*old, index))
                                         : std::string("the array had another shape")});
  }
  const std::int32_t batch_row = section.rows.batch_row(array.array.rows, row);
  if (batch_row < 0) return facts;
  const bool is_real = static_cast<std::size_t>(batch_row) < view.trace.rows.size();
  const std::int32_t num_reqs = view.trace.common.num_reqs;
  if (batch_row >= num_reqs) {
    facts.push_back({"row", batch_row == num_reqs && is_offsets(array.array.name)
                                ? std::string("none: where the last one ends")
                                : fmt::format("none: the batch has {} rows", num_reqs)});
    return facts;
  }
  facts.push_back({"row", fmt::format("{}", batch_row)});
  if (is_real)
    facts.push_back({"request", view.names.request(
                                    view.trace.rows[static_cast<std::size_t>(batch_row)].request)});
  else
    facts.push_back({"request", "none: a padding row"});
  return facts;
}

bool is_offsets(std::string_view array) {
  return array.find("query_start_loc") != std::string_view::npos;
}

std::string element_text(std::int64_t value) {
  return value == kNeverWritten ? std::string("unset") : fmt::format("{}", value);
}

}  // namespace hybridscope
