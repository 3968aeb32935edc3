// Edits of the plan of what is open, taken back and made again.
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "gui/model/edited_session.h"
#include "gui/model/live_run.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

Status Workbench::change_plan(const ForkAt& changes) {
  HS_EXPECT(run_ != nullptr && run_->plan() != nullptr);
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
  plans.add(std::move(before));
  has_unsaved_edits_ = true;
  job_saves_edits_ = false;
  return Ok{};
}

PlanVersion Workbench::shown_version() const {
  return {
      .plan = std::make_shared<const RunPlan>(*run_->plan()), .step = run_->step(), .words = {}};
}

// The selection stays: what it names is there in both.
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

// `anew` null: the run that is shown has become another one. What it is compared with stays.
std::unique_ptr<ShownRun> Workbench::show_instead(std::unique_ptr<ShownRun> anew,
                                                  std::int64_t step) {
  control.pause();
  std::unique_ptr<ShownRun> compared = comparison_ ? comparison_->take_other() : nullptr;
  end_comparison();
  breakpoints.forget_hits_after(step);
  ++step_revision_;
  std::unique_ptr<ShownRun> before;
  if (anew != nullptr)
    before = std::exchange(run_, std::move(anew));
  else
    update_selection();
  if (compared != nullptr) {
    const LayoutTree layout = view.layout;  // an edit brings no list to the front
    if (Status again = compare_with(std::move(compared)); !again.ok())
      say(NoticeKind::warning, again.error().message);
    view.layout = layout;
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
  HS_EXPECT(run_ != nullptr && plans.can_undo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans.next_undo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "undone: " + plans.undo_words());
  plans.undone(std::move(before));
  has_unsaved_edits_ = plans.can_undo();
  return Ok{};
}

Status Workbench::redo() {
  HS_EXPECT(run_ != nullptr && plans.can_redo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans.next_redo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "done again: " + plans.redo_words());
  plans.redone(std::move(before));
  has_unsaved_edits_ = plans.can_undo();
  return Ok{};
}

}  // namespace hybridscope
