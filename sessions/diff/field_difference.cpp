#include "sessions/diff/field_difference.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/model_layout.h"
#include "sessions/scenario/settings_table.h"

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
    case DiffValueKind::absent: return "-";
    case DiffValueKind::number: return std::to_string(number);
    case DiffValueKind::flag: return number != 0 ? "yes" : "no";
    case DiffValueKind::block: return fmt::format("block {}", number);
    case DiffValueKind::hash: return fmt::format("{:#018x}", static_cast<std::uint64_t>(number));
    case DiffValueKind::shape:
      return shape_text(number) + (word.empty() ? "" : fmt::format(" {}", word));
    case DiffValueKind::none: return "None";
    case DiffValueKind::word: return std::string(word);
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

namespace {

// The setting as text; "-" when it is not set.
std::string setting_text(const EngineSettings& settings, const Setting& setting) {
  const auto value = get_setting(settings, setting);
  if (!value) return "-";
  if (const auto* flag = std::get_if<bool>(&*value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return std::to_string(*number);
  if (const auto* fraction = std::get_if<double>(&*value)) return fmt::format("{}", *fraction);
  if (const auto* text = std::get_if<std::string>(&*value)) return *text;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(*value), ","));
}

std::string group_text(const KVCacheGroup& group) {
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  return fmt::format("{} with blocks of {}",
                     mamba != nullptr ? mamba_type_name(mamba->mamba_type) : "attention",
                     group.block_size());
}

std::string groups_text(const EngineConfig& config) {
  std::vector<std::string> texts;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    texts.push_back(group_text(group));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<ConfigDifference> compare_configs(const EngineConfig& a, const EngineConfig& b) {
  std::vector<ConfigDifference> differences;
  const EngineSettings settings_a = settings_of(a);
  const EngineSettings settings_b = settings_of(b);
  const auto add = [&](std::string name, std::string value_a, std::string value_b) {
    if (value_a != value_b)
      differences.push_back({std::move(name), std::move(value_a), std::move(value_b)});
  };
  for (const Setting& setting : settings_table())
    add(setting_path(setting), setting_text(settings_a, setting),
        setting_text(settings_b, setting));
  add("kv_cache_groups", groups_text(a), groups_text(b));
  add("conv_kernel", std::to_string(a.conv_kernel), std::to_string(b.conv_kernel));
  add("chunk_size", std::to_string(a.chunk_size), std::to_string(b.chunk_size));
  add("scheduler_block_size", std::to_string(a.scheduler_block_size),
      std::to_string(b.scheduler_block_size));
  add("hash_block_size", std::to_string(a.hash_block_size), std::to_string(b.hash_block_size));
  return differences;
}

std::vector<std::string> reasons_against_steps(const EngineConfig& a, const EngineConfig& b) {
  std::vector<std::string> reasons;
  if (a.mamba_cache_mode != b.mamba_cache_mode)
    reasons.push_back(fmt::format(
        "the modes differ ({} and {}): states lie in other columns and chunks end elsewhere",
        mamba_cache_mode_name(a.mamba_cache_mode), mamba_cache_mode_name(b.mamba_cache_mode)));
  const bool same_groups = groups_text(a) == groups_text(b);
  if (!same_groups)
    reasons.push_back(
        fmt::format("the KV-cache groups differ ({}; and {}): models or block sizes are not the "
                    "same, nor are block tables and hits",
                    groups_text(a), groups_text(b)));
  if (a.num_speculative_tokens != b.num_speculative_tokens)
    reasons.push_back(fmt::format("K differs ({} and {}): steps accept other numbers of tokens",
                                  a.num_speculative_tokens, b.num_speculative_tokens));
  if (a.async_scheduling != b.async_scheduling)
    reasons.push_back(
        "only one is scheduled asynchronously: there a frame returns a step later, so every step "
        "differs");
  return reasons;
}

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
