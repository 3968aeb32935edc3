// What is selected and compared, in both runs.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "gui/model/workbench.h"

namespace hybridscope {

void Workbench::select(Selection chosen) {
  chosen.request = run()->find_request(chosen.request_name);
  selection = std::move(chosen);
  if (comparison_ == nullptr) return;
  const ShownRun& other = shows_other_ ? *run_ : comparison_->other();
  other_selection_ = selection_in(other, selection);
}

void Workbench::select_finding(std::size_t number) {
  const Finding& finding = run()->findings()[number].finding;
  Selection chosen = selection;
  chosen.finding = static_cast<std::ptrdiff_t>(number);
  if (finding.request.value >= 0) {
    chosen = with_request(std::move(chosen), run()->names().request(finding.request));
    chosen.request = finding.request;
  }
  if (finding.block >= 0) chosen = with_block(*run(), std::move(chosen), finding.block);
  select(std::move(chosen));
}

void Workbench::select_request(RequestId request) {
  select(with_request(selection, run_->names().request(request)));
}

// Of another step a name may be that of another request; blocks stay.
void Workbench::update_selection() {
  if (run_ == nullptr || selection.request_name.empty()) return;
  selection.request = run_->find_request(selection.request_name);
  if (comparison_ == nullptr) return;
  const ShownRun& other = comparison_->other();
  other_selection_.request = other.find_request(selection.request_name);
  if (selection.is_cell && other_selection_.block < 0)
    other_selection_.block = block_of_cell(other, other_selection_);
}

void Workbench::follow_step() {
  if (comparison_ == nullptr || run_ == nullptr || run_->step() == 0 || control.is_returning())
    return;
  if (Status moved = comparison_->follow(run_->step()); !moved.ok())
    say(NoticeKind::warning, comparison_->other().title() + ": " + moved.error().message);
}

// What is open goes to the last step before a difference that it has no step of; it cannot stand
// before its first.
Status Workbench::show_difference(std::int64_t step) {
  HS_EXPECT(run_ != nullptr && comparison_ != nullptr);
  const auto marks = run_->marks();
  const bool is_there = !marks.empty() && marks.front().step <= step;
  const std::int64_t nearest = is_there || marks.empty() ? step : marks.front().step;
  if (Status moved = go_to(nearest); !moved.ok()) return moved;
  comparison_->show(step, control.is_returning() ? control.target() : run_->step());
  follow_step();
  update_selection();
  return Ok{};
}

Status Workbench::compare_with(std::unique_ptr<ShownRun> other) {
  HS_EXPECT(run_ != nullptr);
  auto comparison = Comparison::create(*run_, std::move(other));
  if (!comparison.ok()) return comparison.error();
  comparison_ = std::move(comparison).value();
  follow_step();
  select(selection);
  say(NoticeKind::info,
      fmt::format("compared: {} and {}", run_->title(), comparison_->other().title()));
  if (view.find_panel("differences") != nullptr) view.layout.show_panel("differences");
  return Ok{};
}

const DifferenceMarks* Workbench::differences() {
  if (comparison_ == nullptr || run_ == nullptr || run_->step() == 0) return nullptr;
  if (differences_revision_ != revision_) {
    differences_revision_ = revision_;
    differences_ = {};
    const std::int64_t here = comparison_->place(run_->step());
    const DifferingStep* step = comparison_->at(here);
    const ShownRun& other = comparison_->other();
    const bool both = step != nullptr && run_->step() == here && other.step() == here;
    const bool arrays = both && std::ranges::find(step->lines, DiffList::arrays,
                                                  &DifferenceLine::list) != step->lines.end();
    if (both)
      differences_ =
          make_difference_marks(*step, arrays ? step_arrays(run_->view().trace) : StepArrays(),
                                arrays ? step_arrays(other.view().trace) : StepArrays());
  }
  return differences_.empty() ? nullptr : &differences_;
}

void Workbench::end_comparison() { comparison_.reset(); }

}  // namespace hybridscope
