#include "sessions/diff/element_matcher.h"

namespace hybridscope {

std::int32_t RequestNumbers::number(int side, RequestId request) {
  if (request.value < 0) return -1;
  auto& numbers = numbers_[side];
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= numbers.size()) numbers.resize(id + 1, -1);
  if (numbers[id] >= 0) return numbers[id];
  std::string name = sources_[side]->request_name(request);
  auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    names_.push_back(std::move(name));
    found = by_name_.emplace(names_.back(), static_cast<std::int32_t>(names_.size() - 1)).first;
  }
  return numbers[id] = found->second;
}

ElementMatcher::ElementMatcher(RequestNumbers& names, const IgnoreRules& rules)
    : names_(names), rules_(rules) {
  for (const DiffListInfo& info : diff_lists())
    present_[static_cast<std::size_t>(info.list)] = field_names(info.list).size() - 1;
}

void ElementMatcher::begin() {
  elements_[0].clear();
  elements_[1].clear();
}

void ElementMatcher::add(int side, RequestId request, ListElement element) {
  element.request = names_.number(side, request);
  if (element.request >= 0 && rules_.ignores_request(names_.name(element.request))) return;
  elements_[side].push_back(element);
}

FieldDifference* ElementMatcher::differ(DiffList list, const ListElement& element,
                                        std::size_t field, std::string_view name) {
  if (rules_.ignores_field(list, field)) return nullptr;
  return &found_->emplace_back(
      FieldDifference{.list = list,
                      .section = section_of(list, name),
                      .request = element.request,
                      .group = element.group,
                      .column = element.column,
                      .part = element.part,
                      .detail = element.detail,
                      .place = element.place,
                      .occurrence = element.number > 0 ? element.number : occurrence_,
                      .field_number = static_cast<std::uint32_t>(field),
                      .field = name,
                      .a = {},
                      .b = {}});
}

void ElementMatcher::report_one_sided(DiffList list, const ListElement& element, int side) {
  FieldDifference* difference =
      differ(list, element, present_[static_cast<std::size_t>(list)], kPresentField);
  if (difference == nullptr) return;
  (side == 0 ? difference->a : difference->b) =
      element.block < 0 ? DiffValue{DiffValueKind::flag, 1}
                        : DiffValue{DiffValueKind::block, element.block};
}

void ElementMatcher::sort() {
  for (auto& elements : elements_)
    if (!std::ranges::is_sorted(elements, {}, &ListElement::key))
      std::ranges::stable_sort(elements, {}, &ListElement::key);
}

void ElementMatcher::count_occurrence(std::size_t i, std::size_t j, const ListElement::Key& key) {
  const auto has = [&key](const std::vector<ListElement>& elements, std::size_t place) {
    return place < elements.size() && elements[place].key() == key;
  };
  const auto& [a, b] = elements_;
  if ((i > 0 && has(a, i - 1)) || (j > 0 && has(b, j - 1)))
    ++occurrence_;
  else
    occurrence_ = has(a, i + 1) || has(b, j + 1) ? 1 : 0;
}

}  // namespace hybridscope
