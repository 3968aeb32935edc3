#include "gui/model/workbench.h"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "core/base/result.h"
#include "gui/model/command_table.h"
#include "gui/model/live_run.h"
#include "gui/model/shown_plan.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {
namespace {

// Files of at most this many steps are written at once.
constexpr int kStepsAtOnce = 32;

}  // namespace

Workbench::Workbench(std::vector<PanelInfo> panels) {
  view_.panels = std::move(panels);
  view_.layout = default_layout(view_.panels);
}
Workbench::~Workbench() { leave_engine(); }

void Workbench::report_fault(std::string_view what) {
  banner_ =
      fmt::format("internal error: {}. The session is as it was; save it and report this.", what);
  control_.pause();
  touch();
}

// False: it ended in a fault of the program, which the banner shows.
bool Workbench::guarded(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const std::exception& fault) {  // a ContractViolation, or what nobody thought of
    report_fault(fault.what());
    return false;
  }
}

Status Workbench::apply(const GuiCommand& command) {
  notice_is_new_ = false;
  Status done = Ok{};
  const bool carried_out = guarded([&] { done = carry_out(command); });
  const bool followed = guarded([&] {
    note_step();
    search_first_cause();
  });
  if (!carried_out || !followed) done = Error{ErrorKind::corrupt, banner_};
  answer_dialog(command, done);
  stop_waiting();
  if (!done.ok()) say(NoticeKind::error, done.error().message);
  touch();
  return done;
}

Status Workbench::apply_in_window(const GuiCommand& command) {
  const CommandRow* row = find_command(command.id);
  const bool is_asked = row != nullptr && !row->argument.empty() && command.argument.empty();
  if (has_unsaved_edits_ && row != nullptr && leaves_run(*row, command.argument, *this) &&
      !is_asked) {
    view_.close_dialog();
    view_.dialog = Dialog::unsaved;
    waiting_ = command;
    touch();
    return Ok{};
  }
  asks_ = true;
  const Status done = apply(command);
  asks_ = false;
  return done;
}

Status Workbench::go_on() {
  HS_EXPECT(waiting_.has_value());
  const GuiCommand command = *std::exchange(waiting_, std::nullopt);
  view_.close_dialog();
  return carry_out(command);
}

void Workbench::note_saving() {
  job_saves_edits_ = job_ != nullptr;
  if (job_ == nullptr) has_unsaved_edits_ = false;
}

// Closing the dialog, or opening another one, cancels the waiting command.
void Workbench::stop_waiting() {
  const bool saves =
      view_.dialog == Dialog::argument && view_.dialog_command == "file.save_session";
  const bool is_saved = job_saves_edits_ && view_.dialog == Dialog::none;
  if (view_.dialog != Dialog::unsaved && !saves && !is_saved) waiting_.reset();
}

Status Workbench::carry_out(const GuiCommand& command) {
  const CommandRow* row = find_command(command.id);
  if (row == nullptr) return invalid_input(no_such_command(command.id));
  if (!is_possible(*row, *this))
    return invalid_input(fmt::format("{}: {}", row->title, what_it_needs(row->needs, run())));
  if (!row->argument.empty() && command.argument.empty()) {
    view_.close_dialog();
    view_.dialog = Dialog::argument;
    view_.dialog_command = row->id;
    if (row->suggest != nullptr) view_.dialog_text = row->suggest(*this);
    return Ok{};
  }
  if (row->argument.empty() && !command.argument.empty())
    return invalid_input(
        fmt::format("{} takes no argument, found \"{}\"", row->id, command.argument));
  if (command.side == CompareSide::left || comparison_ == nullptr || row->menu != "Select")
    return row->apply(*this, command.argument);
  const SideScope right(*this);
  return row->apply(*this, command.argument);
}

// Closes the dialog that asked for the argument once the command was executed.
void Workbench::answer_dialog(const GuiCommand& command, const Status& done) {
  if (view_.dialog != Dialog::argument || command.id != view_.dialog_command ||
      command.argument.empty())
    return;
  if (done.ok())
    view_.close_dialog();
  else
    view_.dialog_error = done.error().message;
}

void Workbench::advance(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us) {
  guarded([&] { advance_parts(budget_us, clock_us); });
}

void Workbench::advance_parts(std::int64_t budget_us,
                              const std::function<std::int64_t()>& clock_us) {
  if (job_ != nullptr) write_on(budget_us, clock_us);
  if (attached_ != nullptr) look_at_engine(clock_us());
  take_first_cause();
  if (run_ == nullptr) return;
  // Whoever is behind shows the next step soon: its predecessor is not read any further.
  if (attached_ == nullptr || attached_->keeps_up()) load_more(*run_);
  if (comparison_ != nullptr) {
    if (comparison_->advance(is_moving() ? budget_us / 2 : budget_us, clock_us)) touch();
    show_sought_difference();
    load_more(comparison_->other());
  }
  if (!is_moving()) return search_first_cause();
  notice_is_new_ = false;
  const bool returns = control_.is_returning();
  const auto end =
      control_.advance(*run_, breakpoints_, {.budget_us = budget_us, .clock_us = clock_us});
  if (end) {
    // The end of what came from the engine is no end.
    const bool follows = attached_ != nullptr && !end->stop && !end->error;
    if (follows)
      attached_->follow();
    else if (!returns || end->error)
      say(end->error ? NoticeKind::error : NoticeKind::info, end->words);
    if (end->stop && end->stop->hit.request.value >= 0) select_request(end->stop->hit.request);
    if (end->stop && end->stop->hit.block >= 0)
      select(with_block(*run_, selection_, end->stop->hit.block));
    touch();
  }
  note_step();
  search_first_cause();
}

Status Workbench::go_to(std::int64_t step) {
  HS_EXPECT(run_ != nullptr);
  control_.pause();
  if (const auto target = run_->begin_go_to(step)) {
    control_.return_to(*target);
    return Ok{};
  }
  return run_->go_to(step);
}

Status Workbench::check_output(const OutputTarget& output) const {
  CommandFiles files{.inputs = files_read_, .outputs = {}};
  if (job_ != nullptr) files.outputs.push_back(run_output(job_->path()));
  for (const PanelPicture& picture : outbox_.pictures)
    files.outputs.push_back({.option = {}, .path = picture.path});
  files.outputs.push_back(output);
  return check_files(files);
}

Status Workbench::write_file(Result<std::unique_ptr<FileJob>> job, std::string done) {
  HS_EXPECT(job_ == nullptr);
  if (!job.ok()) return job.error();
  job_ = std::move(job).value();
  job_done_ = std::move(done);
  job_status_ = Ok{};
  for (int i = 0; i < kStepsAtOnce && job_ != nullptr; ++i) end_job(job_->step());
  return job_status_;
}

void Workbench::write_on(std::int64_t budget_us, const std::function<std::int64_t()>& clock_us) {
  Result<bool> advanced = false;
  if (!guarded(
          [&] { advanced = advance_job(*job_, {.budget_us = budget_us, .clock_us = clock_us}); }))
    advanced = Error{ErrorKind::corrupt, banner_};
  end_job(advanced);
}

void Workbench::end_job(const Result<bool>& advanced) {
  if (advanced.ok() && advanced.value()) return;
  const std::string path = job_->path();
  job_.reset();
  const bool saved_edits = std::exchange(job_saves_edits_, false);
  job_status_ = advanced.ok() ? Status(Ok{}) : Status(advanced.error());
  touch();
  if (advanced.ok())
    say(NoticeKind::info, job_done_);
  else
    say(NoticeKind::error, fmt::format("{} was not written: {}", path, advanced.error().message));
  if (!saved_edits) return;
  if (advanced.ok()) has_unsaved_edits_ = false;
  if (!advanced.ok()) waiting_.reset();
  if (!waiting_) return;
  if (Status gone = go_on(); !gone.ok()) say(NoticeKind::error, gone.error().message);
}

void Workbench::cancel_job() {
  HS_EXPECT(job_ != nullptr);
  say(NoticeKind::info, fmt::format("stopped: nothing of {} is kept", job_->path()));
  job_.reset();
  job_saves_edits_ = false;
}

void Workbench::speak_with(std::shared_ptr<const LanguageModel> speaking) {
  speaking_ = std::move(speaking);
  if (run_ != nullptr) run_->speak_with(speaking_);
  if (comparison_ != nullptr) comparison_->other().speak_with(speaking_);
  touch();
}

void Workbench::load_more(ShownRun& run) {
  run.limit_history(memory_.history_bytes());
  run.speak_with(speaking_);
  if (run.load_more()) touch();
  if (std::string trouble = run.take_trouble(); !trouble.empty())
    say(NoticeKind::warning, std::move(trouble));
}

void Workbench::note_step() {
  const std::int64_t step = run_ == nullptr ? 0 : run_->step();
  if (attached_ != nullptr && run_ != nullptr && step < run_->last_known_step()) attached_->stay();
  if (step == seen_step_ && run_.get() == seen_run_ && !(lags_ && !control_.is_returning())) return;
  seen_step_ = step;
  seen_run_ = run_.get();
  say_step();
  lags_ = control_.is_returning();
  if (!lags_) follow_step();
  update_selection();
  ++step_revision_;
  touch();
}

// Messages about another step are outdated now, except from the command that led to this one.
void Workbench::say_step() {
  if (run_ == nullptr || run_->step() == 0 || notice_is_new_) return;
  const auto marks = run_->marks();
  const std::ptrdiff_t here = mark_index(marks, run_->step());
  notice_ = {NoticeKind::info, here < 0 ? fmt::format("step {}", run_->step())
                                        : mark_words(marks[static_cast<std::size_t>(here)])};
}

bool Workbench::has_step() const {
  if (shows_other_ && !comparison_->other_has_begun()) return false;
  return run() != nullptr && run()->step() > 0;
}

std::string Workbench::why_no_step() const {
  if (shows_other_ && !comparison_->other().marks().empty())
    return fmt::format("This run begins with step {}.", comparison_->other().marks().front().step);
  if (lesson_ && lesson_->step_to_show() == 0)
    return "The step is shown when all questions of the lesson's part are answered.";
  return "No step was run yet: press Space to play, Right for one step.";
}

void Workbench::show_plan_results(std::unique_ptr<ShownPlan> plan) {
  HS_EXPECT(plan != nullptr);
  plan_results_ = std::move(plan);
  view_.layout.show_panel("plan", view_.layout.leaf_of("timeline"));
  view_.focused_panel = "plan";
  touch();
}

void Workbench::close_plan_results() {
  say(NoticeKind::info, "closed the plan");
  plan_results_.reset();
  view_.layout.hide_panel("plan");
  touch();
}

void Workbench::open(std::unique_ptr<ShownRun> run) {
  end_comparison();
  leave_engine();
  show_run(std::move(run));
}

void Workbench::show_run(std::unique_ptr<ShownRun> run) {
  end_comparison();
  run_ = std::move(run);
  if (run_ != nullptr) run_->speak_with(speaking_);
  lesson_.reset();
  forget_causes();
  bring_back(view_.layout, "lesson", std::exchange(lesson_neighbour_, {}));
  selection_ = {};
  plans_.clear();
  has_unsaved_edits_ = false;
  breakpoints_.clear_hits();
  control_.pause();
  note_step();
}

void Workbench::close() {
  if (run_ != nullptr) say(NoticeKind::info, "closed " + run_->title());
  open(nullptr);
  list_shipped();
}

void Workbench::ask_for_session(std::vector<SessionChoice> sessions) {
  view_.dialog = Dialog::session;
  sessions_to_choose_ = std::move(sessions);
}

void Workbench::list_shipped() {
  if (start_.scenarios.empty()) start_.scenarios = scenario_entries();
  if (start_.lessons.empty()) start_.lessons = lesson_entries();
  if (start_.known_bugs.empty()) start_.known_bugs = known_bug_entries();
}

Status Workbench::take_lesson(LessonSession session) {
  auto run = session.make_run();
  if (!run.ok()) return run.error();
  open(std::move(run).value());
  lesson_ = std::move(session);
  lesson_neighbour_ = set_apart(view_.layout, "lesson");
  return show_lesson_part();
}

// The place for a panel that must not cover the lesson.
PanelTarget Workbench::place_beside(std::int32_t lesson) const {
  const auto tables = view_.layout.leaf_of("block_tables");
  if (tables && *tables != lesson) return {.leaf = *tables};
  return {.leaf = lesson, .place = LeafPlace::left};
}

Status Workbench::show_lesson_part() {
  HS_EXPECT(lesson_.has_value());
  auto run = lesson_->make_run();
  if (!run.ok()) return run.error();
  control_.pause();
  plans_.clear();
  has_unsaved_edits_ = false;
  end_comparison();
  selection_ = {};
  breakpoints_.clear_hits();
  forget_causes();
  run_ = std::move(run).value();
  ++step_revision_;
  const LessonShow& show = lesson_->part().show;
  // The panel stays in place; only one that would cover the text is moved to the block tables.
  if (view_.find_panel(show.panel) != nullptr) {
    view_.layout.show_panel(show.panel);
    const auto lesson = view_.layout.leaf_of("lesson");
    if (lesson && view_.layout.leaf_of(show.panel) == lesson)
      view_.layout.move_panel(show.panel, place_beside(*lesson));
  }
  view_.layout.show_panel("lesson");
  select({.group = show.group.value_or(-1),
          .column = show.column.value_or(-1),
          .block = show.block.value_or(-1),
          .request_name = show.request});
  say(NoticeKind::info, progress_words(*lesson_));
  return Ok{};
}

}  // namespace hybridscope
