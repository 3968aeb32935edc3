// What stands beside the open run: the run it is compared with, and the engine that the workbench
// is attached to.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "gui/model/workbench.h"

namespace hybridscope {

void Workbench::follow_step() {
  if (comparison_ == nullptr || run_ == nullptr || run_->step() == 0 || control_.is_returning())
    return;
  if (Status moved = comparison_->follow(run_->step()); !moved.ok())
    say(NoticeKind::warning, comparison_->other().title() + ": " + moved.error().message);
}

// If the open run lacks the step, it goes to the last one before it, or else to its first.
Status Workbench::show_difference(std::int64_t step) {
  HS_EXPECT(run_ != nullptr && comparison_ != nullptr);
  const auto marks = run_->marks();
  const bool is_there = !marks.empty() && marks.front().step <= step;
  const std::int64_t nearest = is_there || marks.empty() ? step : marks.front().step;
  if (Status moved = go_to(nearest); !moved.ok()) return moved;
  comparison_->show(step, control_.is_returning() ? control_.target() : run_->step());
  follow_step();
  update_selection();
  if (const DifferingStep* shown = comparison_->at(step)) select_differing(*shown);
  return Ok{};
}

namespace {
// The request of a step that differs only as a whole: that of a finding, or of the first row, or
// the first that has blocks. Empty: the step has none.
std::string request_of(const ShownRun& run) {
  const StepView view = run.view();
  for (const Finding& finding : view.findings)
    if (finding.request.value >= 0) return view.names.request(finding.request);
  if (!view.trace.scheduled.empty())
    return view.names.request(view.trace.scheduled.front().request);
  const auto requests = view.scheduler_tables.requests();
  return requests.empty() ? std::string() : view.names.request(requests.front());
}
}  // namespace

// Keeps the selected request if it differs, or if the step differs only as a whole.
void Workbench::select_differing(const DifferingStep& step) {
  std::string request(differing_request(step, selection_.request_name));
  if (request.empty() && selection_.request_name.empty() && run_->step() == step.step)
    request = request_of(*run_);
  if (request.empty() || request == selection_.request_name) return;
  select(with_request(selection_, request));
}

void Workbench::seek_first_difference(SoughtDifference sought) {
  HS_EXPECT(run_ != nullptr && comparison_ != nullptr);
  difference_sought_at_ = run_->step();
  sought_ = sought;
  show_sought_difference();
}

// The search has found it, or has ended, or waits for the next slice.
void Workbench::show_sought_difference() {
  if (is_moving() || run_->step() != difference_sought_at_) difference_sought_at_.reset();
  if (!difference_sought_at_) return;
  const auto [first, of_a_request] = comparison_->first(sought_);
  if (first == nullptr && !comparison_->complete() && comparison_->error().empty()) return;
  difference_sought_at_.reset();
  if (first == nullptr) {
    say(NoticeKind::info, comparison_->words());
    return;
  }
  const std::string request(
      of_a_request != nullptr ? differing_request(*of_a_request, selection_.request_name) : "");
  const bool is_same = first == of_a_request;
  std::string words =
      fmt::format("first difference: step {}{}{}: {}", step_words(*first), is_same ? ", " : "",
                  is_same ? request : "", difference_words(*first));
  if (sought_ == SoughtDifference::with_request && of_a_request != nullptr && !is_same)
    words += fmt::format("; of a request: step {}, {}: {}", step_words(*of_a_request), request,
                         difference_words(*of_a_request));
  const bool selects = sought_ == SoughtDifference::with_request && !request.empty();
  if (Status shown = show_difference(first->step); !shown.ok()) {
    say(NoticeKind::error, shown.error().message);
    return;
  }
  if (selects && request != selection_.request_name) select(with_request(selection_, request));
  say(NoticeKind::info, words);
}

Status Workbench::compare_with(std::unique_ptr<ShownRun> other) {
  HS_EXPECT(run_ != nullptr);
  auto comparison = Comparison::create(*run_, std::move(other));
  if (!comparison.ok()) return comparison.error();
  end_comparison();
  forget_causes();
  comparison_ = std::move(comparison).value();
  follow_step();
  select(selection_);
  say(NoticeKind::info,
      fmt::format("compared: {} and {}", run_->title(), comparison_->other().title()));
  if (view_.find_panel("differences") != nullptr) view_.layout.show_panel("differences");
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
                                                  &CollectedField::list) != step->lines.end();
    if (both)
      differences_ =
          make_difference_marks(*step, arrays ? step_arrays(run_->view().trace) : NamedStepArrays(),
                                arrays ? step_arrays(other.view().trace) : NamedStepArrays());
  }
  return differences_.empty() ? nullptr : &differences_;
}

void Workbench::end_comparison() {
  comparison_.reset();
  difference_sought_at_.reset();
}

// The engine that the workbench is attached to: what has come is shown between two frames.

namespace {

// How often the attached engine is looked at: more seldom by who looks at another step, and by who
// is behind, because drawing takes the processor from judging.
constexpr std::int64_t kFollowedEveryUs = 66'000;
constexpr std::int64_t kSeldomUs = 200'000;

}  // namespace

void Workbench::attach(Attachment::Options options) {
  open(nullptr);
  if (!options.place.starts_with("unix:"))
    note_read({.what = "the trace of the engine,", .path = options.place});
  if (!options.record.empty())
    note_read({.what = "the session file of the engine,",
               .path = parse_session_place(options.record).file,
               .use = FileUse::session});
  attached_ = std::make_unique<AttachedEngine>(std::move(options));
  next_look_us_ = 0;
  touch();
}

// The run's file is closed before its writer is, which then merges the write-ahead log into it.
void Workbench::leave_engine() {
  if (attached_ == nullptr) return;
  comparison_.reset();
  run_.reset();
  attached_.reset();
}

void Workbench::detach() {
  HS_EXPECT(attached_ != nullptr);
  say(NoticeKind::info, fmt::format("detached from {}", attached_->place()));
  attached_.reset();
}

Status Workbench::follow_newest() {
  HS_EXPECT(attached_ != nullptr);
  control_.pause();
  attached_->follow();
  return run_ == nullptr ? Status(Ok{}) : run_->go_to(run_->last_known_step());
}

void Workbench::look_at_engine(std::int64_t now_us) {
  if (now_us < next_look_us_) return;
  attached_->set_breakpoints(breakpoints_.list());
  const std::string error_before = attached_->status().error;
  if (attached_->look()) touch();
  const bool often = attached_->follows() && attached_->keeps_up();
  next_look_us_ = now_us + (often ? kFollowedEveryUs : kSeldomUs);
  if (const std::string& error = attached_->status().error; error != error_before && !error.empty())
    say(NoticeKind::error, error);
  // A comparison holds what it compares.
  if (comparison_ == nullptr)
    if (Status shown = show_what_came(); !shown.ok()) say(NoticeKind::error, shown.error().message);
  show_hits();
  if (const auto ended = attached_->end_of_wait(now_us)) {
    wait_status_ = *ended;
    if (!ended->ok()) say(NoticeKind::error, ended->error().message);
  }
}

Status Workbench::show_what_came() {
  auto next = attached_->open_next_trace();
  if (!next.ok()) return next.error();
  if (next.value() != nullptr) {
    show_run(std::move(next).value());
    attached_->follow();
    say(NoticeKind::info,
        fmt::format("attached to {}, {}", attached_->place(), attached_->status().engine));
    return Ok{};
  }
  const auto extended = attached_->extend_run();
  if (!extended.ok()) return extended.error();
  if (!extended.value()) return Ok{};
  touch();
  if (!attached_->follows() || is_moving()) return Ok{};
  if (Status moved = run_->go_to(run_->last_known_step()); !moved.ok()) return moved;
  notice_is_new_ = true;  // a message stays although steps come
  note_step();
  return Ok{};
}

void Workbench::show_hits() {
  while (const auto hit = attached_->take_hit()) {
    if (!hit->breakpoint.empty()) breakpoints_.count_hit(hit->breakpoint, hit->step);
    show_hit(*hit);
  }
}

// Whoever follows is brought to the step; whoever looks at another one stays there.
void Workbench::show_hit(const ArrivedHit& hit) {
  if (attached_->follows()) {
    if (Status moved = run_->go_to(hit.step); !moved.ok())
      return say(NoticeKind::error, moved.error().message);
    attached_->stay();
    if (hit.request.value >= 0) select_request(hit.request);
    if (hit.block >= 0) select(with_block(*run_, selection_, hit.block));
    note_step();
  }
  const std::string words = fmt::format("step {}: {}", hit.step, hit.words);
  say(NoticeKind::info,
      hit.trouble.empty() ? words : fmt::format("{} (not held: {})", words, hit.trouble));
  touch();
}

}  // namespace hybridscope
