// The engine that the workbench is attached to: what has come is shown between two frames.
#include <fmt/core.h>

#include <utility>

#include "core/base/check.h"
#include "gui/model/workbench.h"

namespace hybridscope {
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
