#include "gui/model/attached_engine.h"

#include <fmt/core.h>
#include <algorithm>
#include <tuple>
#include <utility>

#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// A breakpoint may hold in every step: of hits that wait for their step, the first ones are kept.
constexpr std::size_t kMostHits = 10'000;

auto shown_part(const AttachStatus& status) {
  return std::tie(status.state, status.error, status.trace, status.num_judged, status.num_written,
                  status.num_waiting, status.hold, status.hold_asked_for);
}

}  // namespace

AttachedEngine::AttachedEngine(Attachment::Options options) : attachment_(std::move(options)) {}

bool AttachedEngine::look() {
  AttachStatus now = attachment_.status();
  for (ArrivedHit& hit : attachment_.take_hits())
    if (hits_.size() < kMostHits) hits_.push_back(std::move(hit));
  const bool changed = shown_part(now) != shown_part(status_);
  status_ = std::move(now);
  return changed;
}

Result<std::unique_ptr<RecordedRun>> AttachedEngine::open_next_trace() {
  using Run = std::unique_ptr<RecordedRun>;
  if (status_.trace == shown_trace_ || status_.num_written == 0) return Run();
  auto run =
      RecordedRun::open(status_.session, {.title = place(), .file_owner = status_.session_owner});
  if (!run.ok()) return run.error();
  if (Status moved = run.value()->go_to(run.value()->last_known_step()); !moved.ok())
    return moved.error();
  run_ = run.value().get();
  shown_trace_ = status_.trace;
  return run;
}

Result<bool> AttachedEngine::extend_run() {
  if (run_ == nullptr || status_.trace != shown_trace_) return false;
  if (status_.num_written == static_cast<std::int64_t>(run_->marks().size())) return false;
  return run_->see_new_steps();
}

std::optional<ArrivedHit> AttachedEngine::take_hit() {
  while (!hits_.empty() && hits_.front().trace < shown_trace_) hits_.pop_front();
  if (hits_.empty() || hits_.front().trace != shown_trace_ ||
      hits_.front().step > run_->last_known_step())
    return std::nullopt;
  ArrivedHit hit = std::move(hits_.front());
  hits_.pop_front();
  return hit;
}

std::int64_t AttachedEngine::num_behind() const {
  const std::int64_t num_shown = run_ != nullptr && status_.trace == shown_trace_
                                     ? static_cast<std::int64_t>(run_->marks().size())
                                     : 0;
  return status_.num_waiting + std::max<std::int64_t>(status_.num_judged - num_shown, 0);
}

void AttachedEngine::set_breakpoints(const std::vector<Breakpoint>& list) {
  HoldRules rules{.breakpoints = {}, .at_findings = rules_.at_findings};
  for (const Breakpoint& breakpoint : list)
    if (breakpoint.enabled) rules.breakpoints.push_back(breakpoint.condition.text());
  if (rules == rules_) return;
  rules_ = rules;
  attachment_.set_hold_rules(std::move(rules));
}

void AttachedEngine::hold_at_findings(bool on) {
  rules_.at_findings = on;
  attachment_.set_hold_rules(rules_);
}

std::optional<Status> AttachedEngine::end_of_wait(std::int64_t now_us) {
  if (awaited_ == 0) return std::nullopt;
  if (awaited_until_us_ == 0) awaited_until_us_ = now_us + patience_seconds_ * 1'000'000;
  const bool has_come = run_ != nullptr && run_->last_known_step() >= awaited_;
  const bool has_ended = status_.state == AttachState::ended && num_behind() == 0;
  if (!has_come && !has_ended && now_us < awaited_until_us_) return std::nullopt;
  const std::int64_t step = std::exchange(awaited_, 0);
  awaited_until_us_ = 0;
  if (has_come) return Status(Ok{});
  return Status(Error{
      ErrorKind::not_found,
      fmt::format("step {} did not come{}", step,
                  has_ended ? ": " + (status_.error.empty() ? "the trace ended" : status_.error)
                            : fmt::format(" within {} s", patience_seconds_))});
}

namespace {

void describe_state(const AttachedEngine& engine, AttachedModel& model) {
  switch (engine.status().state) {
    case AttachState::waiting: model.state = "waiting"; return;
    case AttachState::live:
      model.state = model.is_held ? "held" : "live";
      model.tone = model.is_held ? AttachedTone::waits : AttachedTone::ok;
      return;
    case AttachState::lost:
      model.state = engine.status().has_end_mark
                        ? "ended, waiting for another trace"
                        : fmt::format("ended early after step {}, trying again",
                                      grouped_number(engine.status().num_judged));
      model.tone = AttachedTone::bad;
      return;
    case AttachState::ended:
      model.state = "ended";
      model.tone = AttachedTone::bad;
      return;
  }
}

std::string newest_words(const AttachedEngine& engine, const ShownRun& run) {
  if (engine.follows()) return fmt::format("newest step {}", grouped_number(run.last_known_step()));
  const auto marks = run.marks();
  const std::ptrdiff_t here = mark_index(marks, run.step());
  const auto num_new = static_cast<std::int64_t>(marks.size()) - here - 1;
  if (num_new == 0) return fmt::format("newest step {}", grouped_number(run.step()));
  return num_new == 1 ? "1 new step" : fmt::format("{} new steps", grouped_number(num_new));
}

std::string hold_words(const AttachStatus& status) {
  if (status.hold)
    return fmt::format("held after step {}: {}", grouped_number(status.hold->step),
                       status.hold->reason);
  if (status.hold_asked_for) return "asked to hold: " + *status.hold_asked_for;
  return {};
}

// What keeps the trace from being judged, at all, to its end or without doubt.
std::string trouble_words(const AttachStatus& status) {
  if (!status.error.empty()) return status.error.substr(0, status.error.find('\n'));
  if (!status.no_more.empty()) return status.no_more;
  return status.untold.empty() ? std::string() : "not judged in full: " + status.untold;
}

}  // namespace

std::string behind_words(std::int64_t num_behind, Exactness exactness) {
  if (num_behind <= kStepsUnderWay) return {};
  return fmt::format("{}{} behind", exactness == Exactness::estimated ? "about " : "",
                     counted(num_behind, "step"));
}

AttachedModel make_attached_model(const AttachedEngine& engine, const ShownRun* run) {
  const AttachStatus& status = engine.status();
  AttachedModel model{
      .state = {},
      .place = engine.place(),
      .newest = run == nullptr ? std::string() : newest_words(engine, *run),
      .behind = behind_words(engine.num_behind(),
                             status.is_estimate ? Exactness::estimated : Exactness::counted),
      .hold = hold_words(status),
      .error = trouble_words(status),
      .follows = engine.follows(),
      .can_hold = engine.is_socket(),
      .is_held = status.hold.has_value(),
      .is_hold_asked = status.hold_asked_for.has_value(),
      .holds_at_findings = engine.holds_at_findings()};
  describe_state(engine, model);
  return model;
}

std::string waiting_words(const AttachedEngine& engine) {
  const AttachStatus& status = engine.status();
  if (!status.error.empty()) return status.error;
  if (status.trace > 0)
    return fmt::format("Attached to {} ({}). Its first step has not come yet.", engine.place(),
                       status.engine);
  return engine.is_socket()
             ? fmt::format("Waiting for an engine that listens on {}.", engine.place())
             : fmt::format("Waiting for an engine that writes {}.", engine.place());
}

}  // namespace hybridscope
