#include "cli/fork_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/interrupt.h"

namespace hybridscope {

ForkRun::ForkRun(CheckedRun run)
    : run_(std::move(run)), names_(make_names(run_.engine())), digester_(names_.request) {}

Status ForkRun::record(const RecordOption& option, SessionHeader header) {
  auto begun =
      RecordedSession::begin(option, parse_session_place(option.place), std::move(header), names_);
  if (!begun.ok()) return begun.error();
  recorded_ = std::move(begun).value();
  if (recorded_->level() == RecordLevel::full) run_.log_writes();
  return Ok{};
}

Status ForkRun::run(ForkGuard& guard) {
  if (const std::string note = guard.note(); !note.empty()) fmt::print(stderr, "note: {}\n", note);
  Status ended = Ok{};
  while (ended.ok() && !run_.has_ended() && !was_interrupted()) ended = step(guard);
  if (ended.ok() && !was_interrupted()) ended = guard.finish();
  if (recorded_ == nullptr) return ended;
  const Status finished = finish_recording(ended);
  return ended.ok() ? finished : ended;
}

Status ForkRun::step(ForkGuard& guard) {
  const auto stepped = run_.step();
  if (!stepped.ok()) return stepped.error();
  const CheckedStep& step = stepped.value();
  for (const Finding& finding : step.findings) findings_.add(finding, false, names_);
  const StepDigests digests = digester_.digest(step.trace, step.findings);
  if (Status same = guard.check(step.trace.step, digests); !same.ok()) return same;
  if (recorded_ == nullptr) return Ok{};
  return recorded_->add(step.trace, step.findings, step.writes);
}

Status ForkRun::finish_recording(const Status& ended) {
  if (!ended.ok()) return recorded_->finish(SessionStatus::failed, ended.error().message);
  if (run_.end() == EndReason::finished) return recorded_->finish(SessionStatus::complete, "");
  if (was_interrupted()) return recorded_->finish(SessionStatus::interrupted, "interrupted");
  return recorded_->finish(SessionStatus::stopped, "it cannot progress");
}

}  // namespace hybridscope
