#include <fmt/core.h>
#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "gui/model/finding_chains.h"
#include "gui/model/live_run.h"
#include "gui/model/remade_run.h"
#include "gui/model/workbench.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

// Selection, findings, and edits of the open run's plan with undo and redo.

void Workbench::select(Selection chosen) {
  chosen.request = run()->find_request(chosen.request_name);
  selection_ = std::move(chosen);
  if (comparison_ == nullptr) return;
  const ShownRun& other = shows_other_ ? *run_ : comparison_->other();
  other_selection_ = selection_in(other, selection_);
}

void Workbench::select_finding(std::size_t number) {
  const Finding& finding = run()->findings()[number].finding;
  Selection chosen = selection_;
  chosen.finding = static_cast<std::ptrdiff_t>(number);
  if (finding.request.value >= 0) {
    chosen = with_request(std::move(chosen), run()->names().request(finding.request));
    chosen.request = finding.request;
  }
  if (finding.block >= 0) chosen = with_block(*run(), std::move(chosen), finding.block);
  select(std::move(chosen));
}

void Workbench::select_request(RequestId request) {
  select(with_request(selection_, run_->names().request(request)));
}

// In another step a name may belong to another request; blocks stay selected.
void Workbench::update_selection() {
  if (run_ == nullptr || selection_.request_name.empty()) return;
  selection_.request = run_->find_request(selection_.request_name);
  if (comparison_ == nullptr) return;
  const ShownRun& other = comparison_->other();
  other_selection_.request = other.find_request(selection_.request_name);
  if (selection_.is_cell && other_selection_.block < 0)
    other_selection_.block = block_of_cell(other, other_selection_);
}

Status Workbench::change_plan(ForkAt changes) {
  HS_EXPECT(run_ != nullptr && run_->plan() != nullptr);
  changes.step = static_cast<std::int32_t>(run_->step() + 1);
  auto changed = fork_plan(*run_->plan(), changes);
  if (!changed.ok()) return changed.error();
  if (num_agreed_steps(*run_->plan(), changed.value()) >= kMaxStep) {
    say(NoticeKind::info, "nothing changes: it is planned so already");
    return Ok{};
  }
  constexpr std::string_view kEdited = " (edited)";
  if (!changed.value().name.ends_with(kEdited)) changed.value().name += kEdited;
  PlanVersion before = shown_version();
  before.words = words_of(changes);
  auto replaced = show_plan(changed.value(), run_->step());
  if (!replaced.ok()) return replaced.error();
  before.session = std::move(replaced).value();
  say(NoticeKind::info, before.words);
  plans_.add(std::move(before));
  has_unsaved_edits_ = true;
  job_saves_edits_ = false;
  return Ok{};
}

PlanVersion Workbench::shown_version() const {
  return {
      .plan = std::make_shared<const RunPlan>(*run_->plan()), .step = run_->step(), .words = {}};
}

// The selection stays, because what it names exists in both runs.
Result<std::unique_ptr<ShownRun>> Workbench::show_plan(const RunPlan& plan, std::int64_t step) {
  std::unique_ptr<ShownRun> anew;
  if (!run_->continue_with(plan, step)) {
    auto made =
        run_->is_recorded() ? make_edited_session(*run_, plan, step) : LiveRun::create(plan);
    if (!made.ok()) return made.error();
    if (step > 0)
      if (Status moved = made.value()->go_to(step); !moved.ok()) return moved.error();
    const auto bookmarks = run_->bookmarks();
    made.value()->take_over({bookmarks.begin(), bookmarks.end()});
    anew = std::move(made).value();
  }
  return show_instead(std::move(anew), step);
}

// `anew` null: the shown run itself has changed. The comparison stays.
std::unique_ptr<ShownRun> Workbench::show_instead(std::unique_ptr<ShownRun> anew,
                                                  std::int64_t step) {
  control_.pause();
  std::unique_ptr<ShownRun> compared = comparison_ ? comparison_->take_other() : nullptr;
  end_comparison();
  breakpoints_.forget_hits_after(step);
  forget_causes();
  ++step_revision_;
  std::unique_ptr<ShownRun> before;
  if (anew != nullptr)
    before = std::exchange(run_, std::move(anew));
  else
    update_selection();
  if (compared != nullptr) {
    const LayoutTree layout = view_.layout;  // an edit must not bring a panel to the front
    if (Status again = compare_with(std::move(compared)); !again.ok())
      say(NoticeKind::warning, again.error().message);
    view_.layout = layout;
  }
  return before != nullptr && before->is_recorded() ? std::move(before) : nullptr;
}

Status Workbench::show_version(PlanVersion& version, PlanVersion& before) {
  if (version.session == nullptr) {
    auto replaced = show_plan(*version.plan, version.step);
    if (!replaced.ok()) return replaced.error();
    before.session = std::move(replaced).value();
    return Ok{};
  }
  if (Status moved = version.session->go_to(version.step); !moved.ok()) return moved;
  show_instead(std::move(version.session), version.step);
  return Ok{};
}

Status Workbench::undo() {
  HS_EXPECT(run_ != nullptr && plans_.can_undo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans_.next_undo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "undone: " + plans_.undo_words());
  plans_.undone(std::move(before));
  has_unsaved_edits_ = plans_.can_undo();
  return Ok{};
}

Status Workbench::redo() {
  HS_EXPECT(run_ != nullptr && plans_.can_redo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans_.next_redo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "done again: " + plans_.redo_words());
  plans_.redone(std::move(before));
  has_unsaved_edits_ = plans_.can_undo();
  return Ok{};
}

// The known bug, or the policy, that a finding comes from.

namespace {

// The sentence about a cause; empty: none was found.
std::string cause_sentence(const FindingCause& cause) {
  std::string words = CauseWords{.cause = cause.words, .not_known = cause.not_searched}.sentence();
  if (!cause.bugs.empty())
    words += fmt::format("; bug.open {} shows it beside its healthy run",
                         cause.bugs.front().front()->id);
  return words;
}

}  // namespace

Result<std::size_t> Workbench::find_cause_of(std::size_t finding) {
  const RunPlan* plan = run()->plan();
  if (plan == nullptr) return invalid_input(run()->why_no_plan());
  const std::ptrdiff_t root = run()->finding_log().chains()[finding].first;
  const std::size_t first = root < 0 ? finding : static_cast<std::size_t>(root);
  const ShownFinding& shown = run()->findings()[first];
  causes_[{drawn_side(), shown.text}] =
      cause_sentence(find_cause(*plan, shown.finding, {.scope = run()->header().check}));
  touch();
  return first;
}

std::string_view Workbench::cause_of(const ShownFinding& finding) const {
  const auto found = causes_.find({drawn_side(), finding.text});
  return found == causes_.end() ? std::string_view() : found->second;
}

// Searches the cause of the left run's first finding, which begins a chain, once the run stands
// still.
void Workbench::search_first_cause() {
  if (run_ == nullptr || run_->plan() == nullptr || is_moving() || cause_job_.is_busy()) return;
  const auto first = std::ranges::find_if(run_->findings(), [](const ShownFinding& shown) {
    return rule_info(shown.finding.rule).severity == Severity::error;
  });
  if (first == run_->findings().end() || first->text == searched_for_ ||
      causes_.contains({CompareSide::left, first->text}))
    return;
  searched_for_ = first->text;
  cause_job_.begin(*run_->plan(), *first, run_->header().check);
}

void Workbench::take_first_cause() {
  const auto found = cause_job_.take();
  // Without a result a click searches longer.
  if (!found || !found->cause.is_known()) return;
  causes_[{CompareSide::left, found->finding}] = cause_sentence(found->cause);
  touch();
}

void Workbench::forget_causes() {
  causes_.clear();
  searched_for_.clear();
  cause_job_.drop();
}

}  // namespace hybridscope
