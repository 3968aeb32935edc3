#include "gui/model/remade_run.h"

#include "storage/session_reader.h"

namespace hybridscope {
namespace {

// Moves on by a step, and if it is made for the first time, compares it with the recorded one.
// False: there is none. Errors: those of the run and of ForkGuard.
Result<bool> step_as_recorded(LiveRun& run, ForkGuard& guard, StepDigester& digester) {
  const std::int64_t known = run.last_known_step();
  const Result<bool> moved = run.forward();
  if (!moved.ok() || !moved.value() || run.step() <= known) return moved;
  const StepView view = run.view();
  if (Status same = guard.check(view.trace.step, digester.digest(view.trace, view.findings));
      !same.ok())
    return same.error();
  return true;
}

}  // namespace

Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step) {
  const auto recorded = session.source();
  if (!recorded.ok()) return recorded.error();
  auto run = LiveRun::create(plan, {.scope = session.header().check});
  if (!run.ok()) return run.error();
  ForkGuard guard(*recorded.value(), step + 1);
  StepDigester digester(run.value()->names().request);
  while (run.value()->step() < step) {
    const Result<bool> moved = step_as_recorded(*run.value(), guard, digester);
    if (!moved.ok()) return moved.error();
    if (moved.value()) continue;
    if (Status same = guard.finish(); !same.ok()) return same.error();
    break;
  }
  return run;
}

LiveRun* RemadeRun::at(std::int64_t step) {
  wanted_step_ = step;
  return run_ != nullptr && step <= limit_ && run_->step() == step ? run_.get() : nullptr;
}

LiveRun* RemadeRun::up_to(std::int64_t last) {
  wanted_last_ = last;
  return run_ != nullptr && last <= limit_ && run_->last_known_step() >= last ? run_.get()
                                                                              : nullptr;
}

bool RemadeRun::begin() {
  auto recorded = open_session_source(recording_);
  auto run = LiveRun::create(plan_, {.scope = scope_, .logs_writes = false});
  if (!recorded.ok() || !run.ok()) return false;
  recorded_ = std::move(recorded).value();
  run_ = std::move(run).value();
  run_->limit_history(kHistoryBytes);
  guard_.emplace(*recorded_, std::numeric_limits<std::int64_t>::max());
  digester_.emplace(run_->names().request);
  return true;
}

std::int64_t RemadeRun::goal() const {
  const std::int64_t last = std::min(wanted_last_, limit_);
  return num_known() < last ? last : std::min(wanted_step_, limit_);
}

void RemadeRun::go_on() {
  if (run_ == nullptr && !begin()) {
    limit_ = 0;
    return;
  }
  const std::int64_t goal = this->goal();
  if (const std::int64_t way = std::min(goal, num_known()); way > 0 && way != run_->step())
    if (!run_->begin_go_to(way) && !run_->go_to(way).ok()) limit_ = 0;
  std::size_t num_rows = 0;
  for (int i = 0; i < kStepsASlice && num_rows < kRowsASlice && run_->step() < goal; ++i) {
    const std::int64_t before = run_->step();
    const Result<bool> moved = step_as_recorded(*run_, *guard_, *digester_);
    if (!moved.ok() || !moved.value()) {
      limit_ = before;
      break;
    }
    num_rows += run_->view().trace.rows.size();
  }
}

}  // namespace hybridscope
