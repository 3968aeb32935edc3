#include "gui/model/remade_run.h"

#include "storage/session_reader.h"

namespace hybridscope {

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
  guard_.emplace(*recorded_, std::numeric_limits<std::int64_t>::max());
  digester_.emplace(run_->names().request);
  return true;
}

// False: the step after this one is not that of the recording.
bool RemadeRun::step_forward() {
  const std::int64_t before = run_->step();
  const bool is_new = before == run_->last_known_step();
  const Result<bool> moved = run_->forward();
  bool same = moved.ok() && moved.value();
  if (same && is_new) {
    const StepView view = run_->view();
    same = guard_->check(view.trace.step, digester_->digest(view.trace, view.findings)).ok();
  }
  if (!same) limit_ = before;
  return same;
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
    if (!step_forward()) break;
    num_rows += run_->view().trace.rows.size();
  }
}

}  // namespace hybridscope
