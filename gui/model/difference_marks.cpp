#include "gui/model/difference_marks.h"

#include "gui/model/comparison.h"

namespace hybridscope {
namespace {

const NamedArray* find_array(const NamedStepArrays& arrays, std::int32_t group,
                             std::string_view name) {
  const NamedArrayGroup* of_group = arrays.find(group);
  return of_group != nullptr ? of_group->find(name) : nullptr;
}

// The list of differences names the first element only.
std::set<std::int64_t> differing_elements(const DifferenceLine& line, const NamedStepArrays& a,
                                          const NamedStepArrays& b) {
  std::set<std::int64_t> elements;
  if (line.index < 0) return elements;
  elements.insert(line.index);
  const NamedArray* left = find_array(a, line.group, line.part);
  const NamedArray* right = find_array(b, line.group, line.part);
  if (left == nullptr || right == nullptr || left->dims != right->dims) return elements;
  for (std::int64_t i = 0; i < num_elements(*left); ++i)
    if (element_at(*left, i) != element_at(*right, i)) elements.insert(i);
  return elements;
}

void add_request(const DifferenceLine& line, RequestDifferences& of) {
  if (line.group >= 0 && line.column >= 0) of.cells.emplace(line.group, line.column);
  switch (line.list) {
    case DiffList::scheduled:
    case DiffList::rows:
    case DiffList::layout:
      of.row = true;
      return;
    case DiffList::copies:
    case DiffList::state_copies:
      (line.part == "pre_copies" ? of.pre_copy : of.post_copy) = true;
      return;
    default:
      return;
  }
}

}  // namespace

const RequestDifferences* DifferenceMarks::of(std::string_view request) const {
  const auto found = requests.find(request);
  return found == requests.end() ? nullptr : &found->second;
}

const std::set<std::int64_t>* DifferenceMarks::of(std::int32_t group,
                                                  std::string_view array) const {
  const auto found = arrays.find({group, std::string(array)});
  return found == arrays.end() ? nullptr : &found->second;
}

DifferenceMarks make_difference_marks(const DifferingStep& step, const NamedStepArrays& a,
                                      const NamedStepArrays& b) {
  DifferenceMarks marks;
  for (const DifferenceLine& line : step.lines) {
    if (line.list == DiffList::arrays)
      marks.arrays[{line.group, line.part}] = differing_elements(line, a, b);
    else if (!line.request.empty())
      add_request(line, marks.requests[line.request]);
  }
  return marks;
}

}  // namespace hybridscope
