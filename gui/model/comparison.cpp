#include "gui/model/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/palette_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {

Result<std::unique_ptr<Comparison>> Comparison::create(const ShownRun& a,
                                                       std::unique_ptr<ShownRun> b) {
  std::unique_ptr<Comparison> comparison(new Comparison());
  auto source_a = a.source();
  if (!source_a.ok()) return source_a.error();
  auto source_b = b->source();
  if (!source_b.ok()) return source_b.error();
  comparison->source_a_ = std::move(source_a).value();
  comparison->source_b_ = std::move(source_b).value();
  comparison->diff_ =
      std::make_unique<SessionDiff>(*comparison->source_a_, *comparison->source_b_, IgnoreRules());
  comparison->settings_ = compare_configs(a.header().config, b->header().config);
  comparison->sides_ = fmt::format("left: {}, right: {}", a.title(), b->title());
  if (a.is_whole() && b->is_whole())
    comparison->last_step_ = std::max(a.last_known_step(), b->last_known_step());
  comparison->other_ = std::move(b);
  return comparison;
}

void Comparison::add(const StepDifference& difference) {
  CollectedStep collected = collect_step(difference, diff_->names());
  DifferingStep step{.step = collected.step,
                     .last_step = collected.last_step,
                     .presence = collected.presence,
                     .num_fields = collected.num_fields,
                     .lines = std::move(collected.fields)};
  for (const FieldDifference& field : difference.fields)
    step.sections |= 1U << static_cast<unsigned>(field.section);
  const std::size_t most = steps_.size() < kMaxStepsWithLines ? kMaxLinesAStep : 0;
  step.lines.resize(std::min(step.lines.size(), most));
  step.lines.shrink_to_fit();
  steps_.push_back(std::move(step));
}

bool Comparison::advance(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us) {
  if (target_ > 0) {
    follow_on(budget_us, clock_us);
    return true;
  }
  if (complete_) return false;
  const std::int64_t start = clock_us();
  const std::size_t listed = steps_.size();
  do {
    const auto looked = diff_->look(1);
    if (!looked.ok()) error_ = looked.error().message;
    complete_ = !looked.ok() || looked.value() == DiffProgress::end;
    if (!complete_ && looked.value() == DiffProgress::differs) add(diff_->difference());
  } while (!complete_ && clock_us() - start < budget_us);
  return complete_ || steps_.size() > listed;
}

void Comparison::follow_on(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us) {
  const std::int64_t start = clock_us();
  do {
    const auto moved = other_->forward();
    if (!moved.ok() || !moved.value() || other_->step() >= target_) target_ = 0;
  } while (target_ > 0 && clock_us() - start < budget_us);
}

std::int64_t Comparison::compared_step() const {
  return std::max(diff_->summary().last_step_a, diff_->summary().last_step_b);
}

std::string Comparison::words() const {
  if (!error_.empty()) return error_;
  if (complete_) return verdict();
  const std::string of = last_step_ > 0 ? fmt::format(" of {}", last_step_) : std::string();
  return fmt::format("compared up to step {}{} ...: {} so far", compared_step(), of,
                     steps_.size() == 1 ? std::string("1 step differs")
                                        : fmt::format("{} steps differ", steps_.size()));
}

bool passes(const CollectedField& line, std::string_view filter) {
  return contains(line.field, filter) || contains(line.request, filter) ||
         contains(line.place, filter) || contains(diff_section_name(line.section), filter);
}

bool passes(const DifferingStep& step, std::string_view filter) {
  return contains(difference_words(step), filter) ||
         std::ranges::any_of(step.lines, [&](const auto& line) { return passes(line, filter); });
}

std::string step_words(const DifferingStep& step) {
  return step.last_step > step.step ? fmt::format("{}-{}", step.step, step.last_step)
                                    : fmt::format("{}", step.step);
}

std::string difference_words(const DifferingStep& step) {
  if (step.presence == StepPresence::only_a) return "in the left run only";
  if (step.presence == StepPresence::only_b) return "in the right run only";
  std::string names;
  for (std::size_t i = 0; i < kNumDiffSections; ++i) {
    const auto section = static_cast<DiffSection>(i);
    if (step.has(section))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", diff_section_name(section));
  }
  return names;
}

std::string_view differing_request(const DifferingStep& step, std::string_view selected) {
  std::string_view first;
  for (const CollectedField& line : step.lines) {
    if (line.request.empty()) continue;
    if (line.request == selected) return line.request;
    if (first.empty()) first = line.request;
  }
  return first;
}

Comparison::First Comparison::first(SoughtDifference sought) const {
  if (steps_.empty()) return {};
  const auto found = std::ranges::find_if(
      steps_, [](const DifferingStep& step) { return !differing_request(step, "").empty(); });
  const DifferingStep* of_a_request = found == steps_.end() ? nullptr : &*found;
  const bool ends = complete_ || !error_.empty() || steps_.size() >= kMaxStepsWithLines;
  if (sought == SoughtDifference::with_request && of_a_request == nullptr && !ends) return {};
  return {.step = &steps_.front(), .of_a_request = of_a_request};
}

Status Comparison::follow(std::int64_t step) {
  if (shown_.a != step) shown_ = {};
  target_ = 0;
  if (const auto target = other_->begin_go_to(place(step))) {
    target_ = *target;
    other_has_begun_ = true;
    return Ok{};
  }
  Status moved = other_->go_to(place(step));
  other_has_begun_ = moved.ok() || moved.error().kind != ErrorKind::not_found;
  return other_has_begun_ ? moved : Status(Ok{});
}

const DifferingStep* Comparison::at(std::int64_t step) const {
  const DifferingStep* found = after(step - 1);
  return found != nullptr && found->step == step ? found : nullptr;
}

const DifferingStep* Comparison::after(std::int64_t step, std::string_view filter) const {
  auto found = std::ranges::upper_bound(steps_, step, {}, &DifferingStep::step);
  while (found != steps_.end() && !passes(*found, filter)) ++found;
  return found == steps_.end() ? nullptr : &*found;
}

const DifferingStep* Comparison::before(std::int64_t step, std::string_view filter) const {
  auto end = std::ranges::lower_bound(steps_, step, {}, &DifferingStep::step);
  while (end != steps_.begin() && !passes(*(end - 1), filter)) --end;
  return end == steps_.begin() ? nullptr : &*(end - 1);
}

namespace {

constexpr std::array<ColumnWords, 3> kSettingColumns = {{{"Setting", {}, ColumnKind::wrapped},
                                                         {"Left", {}, ColumnKind::wrapped},
                                                         {"Right", {}, ColumnKind::wrapped}}};
constexpr std::array<ColumnWords, 3> kDifferingStepColumns = {
    {{"Step", {}, ColumnKind::words},
     {"Fields", "How many fields differ"},
     {"What differs", {}, ColumnKind::wrapped}}};
constexpr std::array<ColumnWords, 5> kDifferenceColumns = {{{"Request", {}, ColumnKind::name},
                                                            {"Field", {}, ColumnKind::wrapped},
                                                            {"Where", {}, ColumnKind::wrapped},
                                                            {"Left", {}, ColumnKind::wrapped},
                                                            {"Right", {}, ColumnKind::wrapped}}};

Table settings_table(const Comparison& comparison) {
  Table table{.title = "Settings that differ", .headings = headings_of(kSettingColumns)};
  for (const ConfigDifference& setting : comparison.settings())
    table.rows.push_back(
        {words_cell(setting.setting), words_cell(setting.a), words_cell(setting.b)});
  return table;
}

Table steps_table(const Comparison& comparison, std::string_view filter, std::int64_t here) {
  Table table{.title = "Steps that differ", .headings = headings_of(kDifferingStepColumns)};
  for (const DifferingStep& step : comparison.steps()) {
    if (!passes(step, filter)) continue;
    TableRow& row =
        table.rows.emplace_back(TableRow{words_cell(step_words(step)), number_cell(step.num_fields),
                                         words_cell(difference_words(step))});
    row.mark = fmt::format("difference {}", step.step);
    row.clicks = {{"diff.go_to", fmt::format("{}", step.step)}};
    row.is_selected = step.step == here;
  }
  return table;
}

TableRow line_row(const CollectedField& line, const std::string& selected) {
  const bool is_of_step = line.request.empty();
  const Tone tone = !is_of_step && line.request == selected ? Tone::accent : Tone::normal;
  TableRow row = {words_cell(is_of_step ? "(step)" : line.request, tone),
                  words_cell(line.field, tone), words_cell(line.place, tone),
                  words_cell(line.a.text(), tone), words_cell(line.b.text(), tone)};
  if (!is_of_step) row.clicks.push_back({"select.request", quoted_word(line.request)});
  if (line.list == DiffList::arrays && line.group >= 0)
    row.clicks.push_back({"metadata.array", fmt::format("{} {}", line.group, line.part)});
  return row;
}

Table fields_table(const Workbench& workbench, std::int64_t here) {
  const std::string& filter = workbench.options().differences.filter;
  Table table{.title = fmt::format("Step {}", here), .headings = headings_of(kDifferenceColumns)};
  const DifferingStep* const step = workbench.comparison()->at(here);
  if (step == nullptr) {
    table.note = fmt::format("Step {} does not differ.", here);
    return table;
  }
  for (const CollectedField& line : step->lines) {
    if (!passes(line, filter)) continue;
    TableRow& row = table.rows.emplace_back(line_row(line, workbench.selection().request_name));
    row.mark = fmt::format("line {}", table.rows.size() - 1);
  }
  const auto num_lines = static_cast<std::int64_t>(step->lines.size());
  if (table.rows.empty())
    table.note = "Nothing of this step passes the filter.";
  else if (step->num_fields > num_lines)
    table.note = fmt::format("{} of {} shown", num_lines, step->num_fields);
  return table;
}

}  // namespace

Picture differences_picture(Workbench& workbench) {
  const Comparison* const comparison = workbench.comparison();
  if (comparison == nullptr)
    return {.notes = {"Nothing is compared. Ctrl+D opens a second run beside this one; every panel "
                      "then shows both."}};
  const std::string& filter = workbench.options().differences.filter;
  const std::int64_t here = comparison->place(workbench.run()->step());
  return {.notes = {comparison->sides(), comparison->words()},
          .tables = {settings_table(*comparison), steps_table(*comparison, filter, here),
                     fields_table(workbench, here)},
          .fields = {{.mark = "filter",
                      .hint = "filter",
                      .text = filter,
                      .command = "diff.filter",
                      .if_empty = "diff.show_all",
                      .tooltip = "Sections or fields to list and to go to: copies, "
                                 "rows.num_accepted_tokens, a request's name"}},
          .buttons = {{"First", {"diff.first"}, "To the first divergence (Shift+F8)"},
                      {"Previous", {"diff.previous"}, "To the difference before this step (F7)"},
                      {"Next", {"diff.next"}, "To the difference behind this step (F8)"}},
          .has_detail = true};
}

namespace {

const NamedArray* find_array(const NamedStepArrays& arrays, std::int32_t group,
                             std::string_view name) {
  const NamedArrayGroup* of_group = arrays.find(group);
  return of_group != nullptr ? of_group->find(name) : nullptr;
}

// The list of differences names the first element only.
std::set<std::int64_t> differing_elements(const CollectedField& line, const NamedStepArrays& a,
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

void add_request(const CollectedField& line, RequestDifferences& of) {
  if (line.group >= 0 && line.column >= 0) of.cells.emplace(line.group, line.column);
  switch (line.list) {
    case DiffList::scheduled:
    case DiffList::rows:
    case DiffList::layout: of.row = true; return;
    case DiffList::copies:
    case DiffList::state_copies:
      (line.part == "pre_copies" ? of.pre_copy : of.post_copy) = true;
      return;
    default: return;
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
  for (const CollectedField& line : step.lines) {
    if (line.list == DiffList::arrays)
      marks.arrays[{line.group, std::string(line.part)}] = differing_elements(line, a, b);
    else if (!line.request.empty())
      add_request(line, marks.requests[line.request]);
  }
  return marks;
}

}  // namespace hybridscope
