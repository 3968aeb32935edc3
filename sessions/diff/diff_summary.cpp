#include "sessions/diff/diff_summary.h"

#include <fmt/core.h>

#include <algorithm>

namespace hybridscope {
namespace {

constexpr bool is_place(DiffSection section) {
  return section == DiffSection::blocks || section == DiffSection::layout ||
         section == DiffSection::metadata || section == DiffSection::state;
}

}  // namespace

DiffSummary::DiffSummary() {
  for (const DiffListInfo& info : diff_lists())
    by_field.emplace_back(field_names(info.list).size(), 0);
}

void DiffSummary::add(const std::vector<FieldDifference>& fields) {
  std::array<bool, kNumDiffSections> seen{};
  for (const FieldDifference& difference : fields) {
    const auto section = static_cast<std::size_t>(difference.section);
    ++fields_by_section[section];
    seen[section] = true;
    auto& counts = by_field[static_cast<std::size_t>(difference.list)];
    if (difference.field_number < counts.size()) ++counts[difference.field_number];
    if (difference.request < 0) {
      ++num_of_step;
    } else {
      const auto request = static_cast<std::size_t>(difference.request);
      if (request >= by_request.size()) by_request.resize(request + 1, 0);
      ++by_request[request];
    }
  }
  for (std::size_t s = 0; s < kNumDiffSections; ++s) steps_by_section[s] += seen[s] ? 1 : 0;
  const auto sees = [&](DiffSection section) { return seen[static_cast<std::size_t>(section)]; };
  if (sees(DiffSection::metadata) && !sees(DiffSection::blocks) && !sees(DiffSection::layout))
    ++num_metadata_alone;
  num_fields += static_cast<std::int64_t>(fields.size());
}

bool DiffSummary::same_decisions() const {
  if (num_only_a + num_only_b > 0) return false;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    if (fields_by_section[s] > 0 && !is_place(static_cast<DiffSection>(s))) return false;
  const auto& groups = by_field[static_cast<std::size_t>(DiffList::groups)];
  if (std::ranges::any_of(groups, [](std::int64_t count) { return count > 0; })) return false;
  // Metadata or state that differs while no place does is a different decision.
  return differs(DiffSection::blocks) || differs(DiffSection::layout) ||
         (!differs(DiffSection::metadata) && !differs(DiffSection::state));
}

std::string DiffSummary::verdict() const {
  if (num_differences == 0) return "No difference.";
  if (!same_decisions()) return "The decisions differ.";
  std::string text = "The same decisions ";
  if (differs(DiffSection::blocks)) text += "with other block ids";
  if (differs(DiffSection::layout))
    text += differs(DiffSection::blocks) ? " and in other rows" : "in other rows";
  if (differs(DiffSection::metadata))
    text += num_metadata_alone == 0 ? "; metadata arrays, which are made of them, differ too"
                                    : "; metadata differs too";
  return text + ".";
}

std::vector<FieldCount> count_by_field(const DiffSummary& summary) {
  std::vector<FieldCount> counts;
  for (const DiffListInfo& info : diff_lists()) {
    const auto names = field_names(info.list);
    const auto& list = summary.by_field[static_cast<std::size_t>(info.list)];
    for (std::size_t f = 0; f < list.size(); ++f)
      if (list[f] > 0) counts.push_back({info.name, names[f], list[f]});
  }
  std::ranges::stable_sort(counts, std::ranges::greater{}, &FieldCount::count);
  return counts;
}

}  // namespace hybridscope
