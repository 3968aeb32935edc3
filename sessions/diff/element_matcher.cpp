#include "sessions/diff/element_matcher.h"

namespace hybridscope {

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
  return &found_->emplace_back(FieldDifference{.list = list,
                                               .section = section_of(list, name),
                                               .request = element.request,
                                               .group = element.group,
                                               .column = element.column,
                                               .part = element.part,
                                               .place = element.place,
                                               .occurrence = occurrence_,
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

bool ElementMatcher::same_keys() const {
  return std::ranges::equal(elements_[0], elements_[1], {}, &ListElement::key, &ListElement::key);
}

void ElementMatcher::sort() {
  for (auto& elements : elements_) std::ranges::stable_sort(elements, {}, &ListElement::key);
}

}  // namespace hybridscope
