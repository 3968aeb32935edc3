#include "sessions/diff/ignore_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/base/check.h"

namespace hybridscope {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

// "5" or "1-10".
std::optional<std::pair<std::int64_t, std::int64_t>> step_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole_number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

std::string known_rules() {
  std::vector<std::string_view> sections;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    sections.push_back(diff_section_name(static_cast<DiffSection>(s)));
  std::vector<std::string_view> lists;
  for (const DiffListInfo& info : diff_lists())
    if (std::ranges::find(sections, info.name) == sections.end() && info.list != DiffList::digests)
      lists.push_back(info.name);
  return fmt::format(
      "known: the sections {}; the lists {}; a field as LIST.FIELD (rows.num_draft_count); "
      "request:NAME; step:N or step:FIRST-LAST",
      fmt::join(sections, ", "), fmt::join(lists, ", "));
}

}  // namespace

IgnoreRules::IgnoreRules() : sections_(kNumDiffSections, false), partly_(kNumDiffSections, false) {
  for (const DiffListInfo& info : diff_lists()) {
    const auto names = field_names(info.list);
    auto& fields = fields_.emplace_back(names.size(), false);
    for (std::size_t f = 0; f < names.size(); ++f) fields[f] = never_compared(info.list, names[f]);
  }
}

Result<IgnoreRules> IgnoreRules::parse(std::span<const std::string> rules) {
  IgnoreRules parsed;
  for (const std::string& rule : rules)
    if (Status added = parsed.add(rule); !added.ok()) return added.error();
  return parsed;
}

Status IgnoreRules::add(std::string_view rule) {
  if (rule.starts_with("request:") && rule.size() > 8) {
    requests_.emplace_back(rule.substr(8));
    return Ok{};
  }
  if (rule.starts_with("step:")) {
    const auto range = step_range(rule.substr(5));
    if (!range)
      return invalid_input(
          fmt::format("ignore rule \"{}\" has no steps (step:5 or step:1-10)", rule));
    steps_.push_back(*range);
    return Ok{};
  }
  if (add_section_or_list(rule)) return Ok{};
  const std::size_t dot = rule.find('.');
  if (dot != std::string_view::npos) return add_field(rule.substr(0, dot), rule.substr(dot + 1));
  return invalid_input(fmt::format("there is no ignore rule \"{}\" ({})", rule, known_rules()));
}

// A name that is both a section and a list means the section.
bool IgnoreRules::add_section_or_list(std::string_view name) {
  bool found = false;
  for (std::size_t s = 0; s < kNumDiffSections; ++s)
    if (diff_section_name(static_cast<DiffSection>(s)) == name) found = sections_[s] = true;
  const bool is_section = found;
  for (const DiffListInfo& info : diff_lists()) {
    const auto names = field_names(info.list);
    for (std::size_t f = 0; f < names.size(); ++f) {
      const DiffSection section = section_of(info.list, names[f]);
      const bool ignored = is_section ? diff_section_name(section) == name : info.name == name;
      if (!ignored) continue;
      fields_[static_cast<std::size_t>(info.list)][f] = true;
      partly_[static_cast<std::size_t>(section)] = true;
      found = true;
    }
  }
  return found;
}

Status IgnoreRules::add_field(std::string_view list, std::string_view field) {
  const auto info = std::ranges::find(diff_lists(), list, &DiffListInfo::name);
  if (info == diff_lists().end())
    return invalid_input(fmt::format("ignore rule \"{}.{}\": there is no list \"{}\" ({})", list,
                                     field, list, known_rules()));
  const auto names = field_names(info->list);
  const auto found = std::ranges::find(names, field);
  if (found == names.end())
    return invalid_input(fmt::format("ignore rule \"{}.{}\": {} has no such field (known: {})",
                                     list, field, list, fmt::join(names, ", ")));
  fields_[static_cast<std::size_t>(info->list)][static_cast<std::size_t>(found - names.begin())] =
      true;
  partly_[static_cast<std::size_t>(section_of(info->list, field))] = true;
  return Ok{};
}

void IgnoreRules::leave_out_runners() {
  constexpr std::array<std::string_view, 5> kTerms = {"rule", "has_mamba_state_idx",
                                                      "num_scheduled_tokens", "num_computed_tokens",
                                                      "num_draft_tokens"};
  Status left_out = add("worker_tables");
  if (left_out.ok()) left_out = add_field("layout", "slot");
  for (const std::string_view term : kTerms)
    if (left_out.ok()) left_out = add_field("copies", term);
  HS_EXPECT(left_out.ok());
}

bool IgnoreRules::ignores_request(std::string_view name) const {
  return std::ranges::find(requests_, name) != requests_.end();
}

bool IgnoreRules::ignores_step(std::int64_t step) const {
  return std::ranges::any_of(
      steps_, [&](const auto& range) { return range.first <= step && step <= range.second; });
}

bool IgnoreRules::ignores_part_of(DiffSection section) const {
  return !requests_.empty() || partly_[static_cast<std::size_t>(section)];
}

}  // namespace hybridscope
