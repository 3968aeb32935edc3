#include "sessions/diff/field_difference.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <vector>

namespace hybridscope {
namespace {

// What stands in the place of the number of columns where there are none.
constexpr std::uint32_t kOneDimension = 0xFFFFFFFF;
constexpr std::uint32_t kNoDimension = 0xFFFFFFFE;

std::string shape_text(std::int64_t shape) {
  const auto cols = static_cast<std::uint32_t>(shape);
  if (cols == kNoDimension) return "[]";
  return cols == kOneDimension ? fmt::format("[{}]", shape >> 32)
                               : fmt::format("[{}, {}]", shape >> 32, cols);
}

}  // namespace

std::string DiffValue::text() const {
  switch (kind) {
    case DiffValueKind::absent:
      return "-";
    case DiffValueKind::number:
      return std::to_string(number);
    case DiffValueKind::flag:
      return number != 0 ? "yes" : "no";
    case DiffValueKind::block:
      return fmt::format("block {}", number);
    case DiffValueKind::hash:
      return fmt::format("{:#018x}", static_cast<std::uint64_t>(number));
    case DiffValueKind::shape:
      return shape_text(number) + (word.empty() ? "" : fmt::format(" {}", word));
    case DiffValueKind::none:
      return "None";
    case DiffValueKind::word:
      return std::string(word);
  }
  return {};
}

DiffValue array_shape_value(std::int32_t dims, std::int32_t rows, std::int32_t cols,
                            std::string_view dtype) {
  const std::uint32_t low = dims == 0   ? kNoDimension
                            : dims == 1 ? kOneDimension
                                        : static_cast<std::uint32_t>(cols);
  return {DiffValueKind::shape, static_cast<std::int64_t>(rows) << 32 | low, dtype};
}

std::string place_text(const FieldDifference& difference) {
  std::vector<std::string> parts;
  if (!difference.part.empty() && difference.part != difference.field)
    parts.emplace_back(difference.part);
  if (!difference.detail.empty()) parts.emplace_back(difference.detail);
  if (difference.group >= 0) parts.push_back(fmt::format("group {}", difference.group));
  if (difference.column >= 0) parts.push_back(fmt::format("column {}", difference.column));
  if (difference.occurrence > 0) parts.push_back(fmt::format("no. {}", difference.occurrence));
  if (difference.index >= 0)
    parts.push_back(difference.num_columns == 0
                        ? fmt::format("element {}", difference.index)
                        : fmt::format("element [{}, {}]", difference.index / difference.num_columns,
                                      difference.index % difference.num_columns));
  if (difference.num_elements > 1)
    parts.push_back(fmt::format("{} differ", difference.num_elements));
  return fmt::format("{}", fmt::join(parts, ", "));
}

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
