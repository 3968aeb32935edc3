// The workbench without its window: the run that is open, what is selected, what is set, and the
// commands that change it. Everything the window does goes through apply().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/breakpoints.h"
#include "gui/model/comparison.h"
#include "gui/model/difference_marks.h"
#include "gui/model/file_job.h"
#include "gui/model/gui_command.h"
#include "gui/model/lesson_session.h"
#include "gui/model/panel_options.h"
#include "gui/model/plan_history.h"
#include "gui/model/run_control.h"
#include "gui/model/selection.h"
#include "gui/model/shown_run.h"
#include "gui/model/start_entries.h"
#include "gui/model/user_memory.h"
#include "gui/model/view_state.h"

namespace hybridscope {

enum class NoticeKind : std::uint8_t { info, warning, error };

// The last thing the workbench had to say.
struct Notice {
  NoticeKind kind = NoticeKind::info;
  std::string text;
};

// What the start screen lists.
struct StartScreen {
  std::vector<StartEntry> lessons;
  std::vector<StartEntry> scenarios;
  std::vector<StartEntry> recent;
};

class Workbench {
 public:
  // `panels`: that the window can show.
  explicit Workbench(std::vector<PanelInfo> panels = {});
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  ~Workbench();

  // Carries a command out; one that lacks its argument opens the dialog that asks for it. An
  // unknown id, a bad argument or a command that is not possible now changes nothing but the
  // notice. A contract violation is caught, told in the banner, and leaves what is open as it is.
  Status apply(const GuiCommand& command);
  // The same for what a person does in the window: a command that would lose edits which are not
  // saved waits until the person has said what becomes of them (Dialog::unsaved).
  Status apply_in_window(const GuiCommand& command);
  // Is there somebody who can answer what the command that is carried out asks?
  bool asks() const { return asks_; }
  bool has_unsaved_edits() const { return has_unsaved_edits_; }
  // The job that was begun, or is done already, saves the edits; what waits goes on at its end.
  void note_saving();
  // Carries out what waits, whatever it loses. Requires: something waits.
  Status go_on();
  bool is_waiting() const { return waiting_.has_value(); }

  // Lets a motion go on for about `budget_us`; `clock_us` counts microseconds.
  void advance(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  bool is_moving() const { return control.motion() != RunMotion::paused; }
  // Is there work that advance() goes on with?
  bool is_busy() const {
    return is_moving() || job_ != nullptr || (comparison_ != nullptr && comparison_->is_busy());
  }

  // Takes a run over; selection, breakpoints' hits and the undo history start anew.
  void open(std::unique_ptr<ShownRun> run);
  // Nothing is open then: the start screen has what it lists.
  void close();
  // What is part of the program, for the start screen; read once.
  void list_shipped();
  // Null: nothing is open. In a comparison: of the side that is drawn (SideScope).
  ShownRun* run() { return shows_other_ ? &comparison_->other() : run_.get(); }
  const ShownRun* run() const { return shows_other_ ? &comparison_->other() : run_.get(); }
  CompareSide drawn_side() const { return shows_other_ ? CompareSide::right : CompareSide::left; }
  bool has_step() const;
  // Said in place of panels. Requires: !has_step().
  std::string why_no_step() const;

  // To the step, or the nearest one before it that there is; one that is far is gone to by
  // advance(). Requires: something is open. Errors: those of ShownRun::go_to.
  Status go_to(std::int64_t step);

  // Compares what is open with `other`, which follows its steps from now on.
  Status compare_with(std::unique_ptr<ShownRun> other);
  void end_comparison();
  // Goes to a step that differs, which one of the two may lack. Requires: a comparison.
  Status show_difference(std::int64_t step);
  // Null: nothing is compared.
  const Comparison* comparison() const { return comparison_.get(); }
  // What of the shown step differs, for panels of both sides; null: nothing that is known.
  const DifferenceMarks* differences();

  // Writes a file while the run can be used on; a short one is whole when this returns. `done` is
  // said when it is. Errors: those of the job; invalid_input: another file is being written.
  Status write_file(Result<std::unique_ptr<FileJob>> job, std::string done);
  // Nothing of the file stays. Requires: a job.
  void cancel_job();
  // Null: no file is being written.
  const FileJob* job() const { return job_.get(); }
  // How the last one ended, or the one that is going on has begun.
  const Status& job_status() const { return job_status_; }

  // Changes of the plan, from the step behind the one that is shown.
  Status change_plan(const ForkAt& changes);
  Status undo();
  Status redo();

  // Selects it in the run that is drawn, and what it means in the other one of a comparison.
  void select(Selection chosen);
  // What a finding of run() is about, and the finding. Requires: there are so many.
  void select_finding(std::size_t number);

  // Shows the lesson's first part; the lesson ends when something else is opened.
  Status take_lesson(LessonSession session);
  // Shows the lesson's open part: its run, step, panel and selection. Requires: a lesson.
  Status show_lesson_part();
  // Null: none is taken.
  LessonSession* lesson() { return lesson_ ? &*lesson_ : nullptr; }
  const LessonSession* lesson() const { return lesson_ ? &*lesson_ : nullptr; }

  // Stays until something else is said or another step is shown.
  void say(NoticeKind kind, std::string text) {
    notice_ = {kind, std::move(text)};
    notice_is_new_ = true;
  }
  const Notice& notice() const { return notice_; }
  // A fault of the program; empty: none.
  const std::string& banner() const { return banner_; }
  // Tells of one in the banner and pauses.
  void report_fault(std::string_view what);
  void dismiss_banner() { banner_.clear(); }

  // Grows with everything that may change what panels show.
  std::uint64_t revision() const { return revision_; }
  void touch() { ++revision_; }
  // Grows when the step that is shown, or the run behind it, becomes another one: a panel that a
  // fault has stopped is drawn again then.
  std::uint64_t step_revision() const { return step_revision_; }

  bool wants_to_quit = false;
  std::string program = "hybridscope";  // in files that are written
  StartScreen start;
  UserMemory memory;
  Selection selection;  // in run(); select() sets it
  PanelOptions options;
  ViewState view;
  Breakpoints breakpoints;
  RunControl control;
  PlanHistory plans;
  Outbox outbox;
  std::vector<SessionChoice> sessions_to_choose;  // of Dialog::session

 private:
  friend class SideScope;
  bool guarded(const std::function<void()>& work);
  void advance_parts(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  Status carry_out(const GuiCommand& command);
  void answer_dialog(const GuiCommand& command, const Status& done);
  // What was shown, where it is a session; null: a live run goes on, or is made anew.
  Result<std::unique_ptr<ShownRun>> show_plan(const RunPlan& plan, std::int64_t step);
  Status show_version(PlanVersion& version, PlanVersion& before);
  PlanVersion shown_version() const;
  std::unique_ptr<ShownRun> show_instead(std::unique_ptr<ShownRun> anew, std::int64_t step);
  void select_request(RequestId request);
  void update_selection();
  void stop_waiting();
  void load_more(ShownRun& run);
  void note_step();
  void say_step();
  void follow_step();
  void write_on(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  void end_job(const Result<bool>& advanced);
  PanelTarget place_beside(std::int32_t lesson) const;

  std::unique_ptr<ShownRun> run_;
  std::unique_ptr<Comparison> comparison_;
  DifferenceMarks differences_;  // of this revision
  std::uint64_t differences_revision_ = 0;
  std::unique_ptr<FileJob> job_;
  std::string job_done_;  // said at its end
  Status job_status_ = Ok{};
  bool shows_other_ = false;
  Selection other_selection_;  // of the side that is not drawn
  std::optional<LessonSession> lesson_;
  std::string lesson_neighbour_;  // of the lesson's panel before the lesson was taken
  bool asks_ = false;
  bool has_unsaved_edits_ = false;
  bool job_saves_edits_ = false;       // all of those there are
  std::optional<GuiCommand> waiting_;  // while its dialog, or the one that asks for a file, is open
  Notice notice_;
  bool notice_is_new_ = false;  // said by what is carried out at the moment
  std::string banner_;
  std::uint64_t revision_ = 1;
  std::uint64_t step_revision_ = 1;
  std::int64_t seen_step_ = 0;
  bool lags_ = false;  // the other run of a comparison, while this one is on its way to a step
  const ShownRun* seen_run_ = nullptr;
};

// While it lives, run() is the other one of a comparison: panels draw either side without knowing.
class SideScope {
 public:
  explicit SideScope(Workbench& workbench) : workbench_(workbench) {
    workbench_.shows_other_ = true;
    std::swap(workbench_.selection, workbench_.other_selection_);
  }
  ~SideScope() {
    workbench_.shows_other_ = false;
    std::swap(workbench_.selection, workbench_.other_selection_);
  }
  SideScope(const SideScope&) = delete;
  SideScope& operator=(const SideScope&) = delete;

 private:
  Workbench& workbench_;
};

}  // namespace hybridscope
