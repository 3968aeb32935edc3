// The workbench without its window: the open run, the selection, the settings, and the commands
// that change them. Everything the window does goes through apply().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_machine.h"
#include "gui/model/attached_engine.h"
#include "gui/model/command_table.h"
#include "gui/model/comparison.h"
#include "gui/model/file_job.h"
#include "gui/model/finding_chains.h"
#include "gui/model/gui_settings.h"
#include "gui/model/lesson_session.h"
#include "gui/model/next_step_model.h"
#include "gui/model/open_run.h"
#include "gui/model/run_control.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"
#include "sessions/text/command_files.h"

namespace hybridscope {

class ShownPlan;

enum class NoticeKind : std::uint8_t { info, warning, error };

// The last message to the user.
struct Notice {
  NoticeKind kind = NoticeKind::info;
  std::string text;
};

// What the start screen lists.
struct StartScreen {
  std::vector<StartEntry> lessons;
  std::vector<StartEntry> scenarios;
  std::vector<StartEntry> known_bugs;
  std::vector<StartEntry> recent;
};

class Workbench {
 public:
  // `panels`: those that the window can show.
  explicit Workbench(std::vector<PanelInfo> panels = {});
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  ~Workbench();

  // Executes a command; one that lacks its argument opens the dialog that asks for it. An unknown
  // id, a bad argument or a command that is not possible now changes nothing but the notice. A
  // contract violation is caught and shown in the banner, and the open run stays as it is.
  Status apply(const GuiCommand& command);
  // Applies a command of the user in the window: one that would lose unsaved edits waits until the
  // user has decided about them (Dialog::unsaved).
  Status apply_in_window(const GuiCommand& command);
  // Can the user be asked? True while a command from the window is executed.
  bool asks() const { return asks_; }
  // The current job, or one that has just ended, saves the edits; the waiting command continues
  // after it.
  void note_saving();
  // Executes the waiting command even if edits are lost. Requires: one waits.
  Status go_on();
  bool is_waiting() const { return waiting_.has_value(); }

  // Continues a motion for about `budget_us`; `clock_us` counts microseconds.
  void advance(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  bool is_moving() const { return control_.motion() != RunMotion::paused; }
  // Is there work left for advance()?
  bool is_busy() const {
    return is_moving() || job_ != nullptr || cause_job_.is_busy() ||
           (comparison_ != nullptr &&
            (comparison_->is_busy() || comparison_->other().awaits_more())) ||
           (run_ != nullptr && run_->awaits_more()) ||
           (attached_ != nullptr && attached_->is_awaited());
  }

  // Shows the traces of a living engine from now on, the newest step first; advance() looks at what
  // has come. Until the first step nothing is open. Opening or closing something else detaches.
  void attach(Attachment::Options options);
  // What was read stays open. Requires: an engine is attached.
  void detach();
  // The attached engine; null: none is.
  AttachedEngine* attached() { return attached_.get(); }
  const AttachedEngine* attached() const { return attached_.get(); }
  // Goes to the newest step, and to each that comes. Requires: an engine is attached.
  Status follow_newest();

  // Shows a plan's results, beside what is open. Requires: there are any.
  void show_plan_results(std::unique_ptr<ShownPlan> plan);
  void close_plan_results();
  // The open results of `hybridscope plan`; null: none are.
  ShownPlan* plan_results() { return plan_results_.get(); }
  const ShownPlan* plan_results() const { return plan_results_.get(); }

  // Takes over a run; selection, breakpoint hits and undo history are reset.
  void open(std::unique_ptr<ShownRun> run);
  // Closes the run and shows the start screen.
  void close();
  // Lists the built-in scenarios and lessons for the start screen; read once.
  void list_shipped();
  // The open run, in a comparison that of the side that is drawn (SideScope); null: nothing is
  // open.
  ShownRun* run() { return shows_other_ ? &comparison_->other() : run_.get(); }
  const ShownRun* run() const { return shows_other_ ? &comparison_->other() : run_.get(); }
  CompareSide drawn_side() const { return shows_other_ ? CompareSide::right : CompareSide::left; }
  bool has_step() const;
  // Shown in place of panels. Requires: !has_step().
  std::string why_no_step() const;

  // To the step, or the last one before it; advance() does this if the step is far away. Requires:
  // something is open. Errors: those of ShownRun::go_to.
  Status go_to(std::int64_t step);

  // Compares the open run with `other`, which follows its steps from now on.
  Status compare_with(std::unique_ptr<ShownRun> other);
  void end_comparison();
  // Goes to a differing step, which one of the runs may lack, and selects a request that differs
  // in it. Requires: a comparison.
  Status show_difference(std::int64_t step);
  // Shows the first difference of those that are sought, as soon as it is known: advance() goes
  // there unless the user has gone to another step before. Requires: a comparison.
  void seek_first_difference(SoughtDifference sought);
  // The comparison under way; null: nothing is compared.
  const Comparison* comparison() const { return comparison_.get(); }
  // The differences in the shown step, for panels of both sides; null: none are known.
  const DifferenceMarks* differences();

  // Lets the model run on the decisions of all live runs from now on; null: none.
  void speak_with(std::shared_ptr<const LanguageModel> speaking);
  const LanguageModel* speaking() const { return speaking_.get(); }
  // Where models that commands load run; null: on the host.
  void set_language_machine(MakeLanguageMachine make) { make_machine_ = std::move(make); }
  const MakeLanguageMachine& language_machine() const { return make_machine_; }

  // Searches for the known bug, or the policy, that the finding comes from, and remembers it: about
  // a second of work at most. Returns the first finding of its chain, which was searched for.
  // Requires: run() has that finding. Error: invalid_input: the run has no plan.
  Result<std::size_t> find_cause_of(std::size_t finding);
  // "this is known bug 48, ..."; empty: not searched for, or not found. The first finding of the
  // left run is searched for in the background while the run stands still, if that takes not long.
  std::string_view cause_of(const ShownFinding& finding) const;

  // A file that is read from now on, or was: none of them is written over while the program runs.
  void note_read(InputFile file) { files_read_.push_back(std::move(file)); }
  // Before anything is written to it. Error invalid_input: check_files(), with the files that were
  // read, with the one that is being written, and with pictures that are asked for.
  Status check_output(const OutputTarget& output) const;

  // Writes a file while the run stays usable; a short file is complete when this returns. `done` is
  // the message at the end. Errors: those of the job; invalid_input: another file is being written.
  Status write_file(Result<std::unique_ptr<FileJob>> job, std::string done);
  // Removes the unfinished file. Requires: a job.
  void cancel_job();
  // The job that writes a file; null: no file is being written.
  const FileJob* job() const { return job_.get(); }
  // How the last job ended, or how the current one began.
  const Status& job_status() const { return job_status_; }
  // How the last wait for a step of the engine ended. Error not_found: the step did not come.
  const Status& wait_status() const { return wait_status_; }

  // Changes the plan from the step after the one that is shown, whatever step `changes` names.
  Status change_plan(ForkAt changes);
  Status undo();
  Status redo();

  // Selects it in the run that is drawn, and the corresponding item in the other run of a
  // comparison.
  void select(Selection chosen);
  // Selects a finding of run() and what it is about. Requires: `number` is in range.
  void select_finding(std::size_t number);

  // Shows the lesson's first part; the lesson ends when something else is opened.
  Status take_lesson(LessonSession session);
  // Shows the lesson's open part: its run, step, panel and selection. Requires: a lesson.
  Status show_lesson_part();
  // The lesson that is being taken; null: none is.
  LessonSession* lesson() { return lesson_ ? &*lesson_ : nullptr; }
  const LessonSession* lesson() const { return lesson_ ? &*lesson_ : nullptr; }

  // Shows a message until the next message or another step.
  void say(NoticeKind kind, std::string text) {
    notice_ = {kind, std::move(text)};
    notice_is_new_ = true;
  }
  const Notice& notice() const { return notice_; }
  // A fault of the program; empty: none.
  const std::string& banner() const { return banner_; }
  // Shows a fault in the banner and pauses.
  void report_fault(std::string_view what);
  void dismiss_banner() { banner_.clear(); }

  // Grows whenever what panels show may have changed.
  std::uint64_t revision() const { return revision_; }
  void touch() { ++revision_; }
  // Grows when another step or run is shown; a panel that a fault has stopped is drawn again then.
  std::uint64_t step_revision() const { return step_revision_; }

  void quit() { wants_to_quit_ = true; }
  bool wants_to_quit() const { return wants_to_quit_; }
  // Named in files that are written.
  void set_program(std::string name) { program_ = std::move(name); }
  const std::string& program() const { return program_; }
  // Lists the recent files on the start screen.
  void list_recent() { start_.recent = recent_entries(memory_.recent_files()); }
  StartScreen& start() { return start_; }
  // What is selected in run(); select() sets it.
  const Selection& selection() const { return selection_; }
  const PlanHistory& plans() const { return plans_; }
  // Opens the dialog that asks which of a file's sessions to open.
  void ask_for_session(std::vector<SessionChoice> sessions);
  const std::vector<SessionChoice>& sessions_to_choose() const { return sessions_to_choose_; }

  // What commands and panels set; a change is shown in the next frame.
  ViewState& view() { return view_; }
  const ViewState& view() const { return view_; }
  PanelOptions& options() { return options_; }
  const PanelOptions& options() const { return options_; }
  Breakpoints& breakpoints() { return breakpoints_; }
  const Breakpoints& breakpoints() const { return breakpoints_; }
  RunControl& control() { return control_; }
  const RunControl& control() const { return control_; }
  UserMemory& memory() { return memory_; }
  const UserMemory& memory() const { return memory_; }
  Outbox& outbox() { return outbox_; }

  // While it lives, run() is the other one of a comparison: panels draw either side without
  // knowing which. Requires: a comparison.
  class SideScope {
   public:
    explicit SideScope(Workbench& workbench) : workbench_(workbench) {
      workbench_.shows_other_ = true;
      std::swap(workbench_.selection_, workbench_.other_selection_);
    }
    ~SideScope() {
      workbench_.shows_other_ = false;
      std::swap(workbench_.selection_, workbench_.other_selection_);
    }
    SideScope(const SideScope&) = delete;
    SideScope& operator=(const SideScope&) = delete;

   private:
    Workbench& workbench_;
  };

 private:
  bool guarded(const std::function<void()>& work);
  void advance_parts(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  Status carry_out(const GuiCommand& command);
  void answer_dialog(const GuiCommand& command, const Status& done);
  // Shows a run of the plan at `step`. Returns what was shown before if that was a session; null: a
  // live run continued, or was made again.
  Result<std::unique_ptr<ShownRun>> show_plan(const RunPlan& plan, std::int64_t step);
  Status show_version(PlanVersion& version, PlanVersion& before);
  PlanVersion shown_version() const;
  std::unique_ptr<ShownRun> show_instead(std::unique_ptr<ShownRun> anew, std::int64_t step);
  void select_request(RequestId request);
  void update_selection();
  void select_differing(const DifferingStep& step);
  void show_sought_difference();
  void stop_waiting();
  void load_more(ShownRun& run);
  void show_run(std::unique_ptr<ShownRun> run);
  void leave_engine();
  void look_at_engine(std::int64_t now_us);
  Status show_what_came();
  void show_hits();
  void show_hit(const ArrivedHit& hit);
  void note_step();
  void say_step();
  void follow_step();
  void write_on(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us);
  void end_job(const Result<bool>& advanced);
  void search_first_cause();
  void take_first_cause();
  void forget_causes();
  PanelTarget place_beside(std::int32_t lesson) const;

  bool wants_to_quit_ = false;
  std::string program_ = "hybridscope";
  StartScreen start_;
  UserMemory memory_;
  Selection selection_;
  PanelOptions options_;
  ViewState view_;
  Breakpoints breakpoints_;
  RunControl control_;
  PlanHistory plans_;
  Outbox outbox_;
  std::vector<SessionChoice> sessions_to_choose_;  // of Dialog::session
  std::unique_ptr<ShownRun> run_;
  std::unique_ptr<ShownPlan> plan_results_;
  std::unique_ptr<AttachedEngine> attached_;
  std::int64_t next_look_us_ = 0;  // at the attached engine
  std::unique_ptr<Comparison> comparison_;
  std::optional<std::int64_t> difference_sought_at_;  // the step that was shown then
  SoughtDifference sought_ = SoughtDifference::any;
  DifferenceMarks differences_;  // of this revision
  std::uint64_t differences_revision_ = 0;
  std::shared_ptr<const LanguageModel> speaking_;
  MakeLanguageMachine make_machine_;
  std::vector<InputFile> files_read_;
  std::unique_ptr<FileJob> job_;
  std::string job_done_;  // the message at its end
  Status job_status_ = Ok{};
  Status wait_status_ = Ok{};
  bool shows_other_ = false;
  Selection other_selection_;  // of the side that is not drawn
  std::map<std::pair<CompareSide, std::string>, std::string> causes_;  // by the finding's text
  CauseJob cause_job_;
  std::string searched_for_;  // the finding's text
  std::optional<LessonSession> lesson_;
  std::string lesson_neighbour_;  // of the lesson's panel before the lesson was taken
  bool asks_ = false;
  bool has_unsaved_edits_ = false;
  bool job_saves_edits_ = false;       // all edits so far
  std::optional<GuiCommand> waiting_;  // while its dialog or the file dialog is open
  Notice notice_;
  bool notice_is_new_ = false;  // from the command being executed
  std::string banner_;
  std::uint64_t revision_ = 1;
  std::uint64_t step_revision_ = 1;
  std::int64_t seen_step_ = 0;
  bool lags_ = false;  // the other run of a comparison lags while this one is going to a step
  const ShownRun* seen_run_ = nullptr;
};

}  // namespace hybridscope
