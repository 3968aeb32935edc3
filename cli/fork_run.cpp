#include "cli/fork_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "cli/interrupt.h"

namespace hybridscope {

ForkRun::ForkRun(Runner runner, StepChecker checker, CheckScope scope)
    : runner_(std::move(runner)),
      checker_(std::move(checker)),
      scope_(scope),
      names_(make_names(runner_.engine())),
      digester_(names_.request) {}

Status ForkRun::record(const RecordOption& option, SessionHeader header) {
  auto begun =
      RecordedSession::begin(option, parse_session_place(option.place), std::move(header), names_);
  if (!begun.ok()) return begun.error();
  recorded_ = std::move(begun).value();
  if (recorded_->level() == RecordLevel::full) checker_.log_writes();
  return Ok{};
}

Status ForkRun::run(ForkGuard& guard) {
  if (const std::string note = guard.note(); !note.empty()) fmt::print(stderr, "note: {}\n", note);
  Status ended = Ok{};
  while (ended.ok() && !over()) ended = step(guard);
  if (ended.ok() && !was_interrupted()) ended = guard.finish();
  if (recorded_ == nullptr) return ended;
  const Status finished = finish_recording(ended);
  return ended.ok() ? finished : ended;
}

bool ForkRun::over() const { return runner_.done() || stuck_ || was_interrupted(); }

Status ForkRun::step(ForkGuard& guard) {
  const auto trace = runner_.step();
  if (!trace.ok()) return trace.error();
  ++num_steps_;
  const std::span<const Finding> findings = checker_.check(*trace.value(), scope_);
  for (const Finding& finding : findings) {
    stuck_ = stuck_ || finding.rule == Rule::no_progress;
    findings_.add(finding, false, names_);
  }
  const StepDigests digests = digester_.digest(*trace.value(), findings);
  if (Status same = guard.check(trace.value()->step, digests); !same.ok()) return same;
  if (recorded_ == nullptr) return Ok{};
  return recorded_->add(*trace.value(), findings, checker_.writes());
}

Status ForkRun::finish_recording(const Status& ended) {
  if (!ended.ok()) return recorded_->finish(SessionStatus::failed, ended.error().message);
  if (runner_.done()) return recorded_->finish(SessionStatus::complete, "");
  if (was_interrupted()) return recorded_->finish(SessionStatus::interrupted, "interrupted");
  return recorded_->finish(SessionStatus::stopped, "it cannot progress");
}

}  // namespace hybridscope
