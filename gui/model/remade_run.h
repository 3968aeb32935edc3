// A recorded run that is made again beside its recording, for what neither steps nor sessions keep.
// What it makes counts only as far as every step has the digests of the recorded one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "gui/model/live_run.h"
#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"
#include "storage/session_file.h"

namespace hybridscope {

// A live run of a session's edited plan that has come to `step`, the last one before the edit.
// Error: a step up to there that the session has otherwise or lacks; those of both runs.
Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step);

class RemadeRun {
 public:
  // A longer run has only its first steps made again, and no cache report.
  static constexpr std::int64_t kMostSteps = 4000;
  // What go_on() makes at once: so many steps, or steps with so many rows.
  static constexpr int kStepsASlice = 12;
  static constexpr std::size_t kRowsASlice = 500;
  static constexpr std::size_t kHistoryBytes = 256 << 20;

  // Requires: the recording's digests have this program's version. `plan` must outlive this.
  RemadeRun(const RunPlan& plan, CheckScope scope, SessionPlace recording)
      : plan_(plan), scope_(scope), recording_(std::move(recording)) {}

  // The run at the end of the step; null: it is not there yet, but go_on() brings it there, or the
  // steps up to there are not those of the recording.
  LiveRun* at(std::int64_t step);
  // The run with all steps up to this one known; null: as above.
  LiveRun* up_to(std::int64_t last);
  // Is there anything to make of what was asked for last?
  bool is_behind() const { return goal() > 0 && (run_ == nullptr || run_->step() != goal()); }
  // Makes a slice of it. Requires: is_behind().
  void go_on();

 private:
  std::int64_t num_known() const {
    return run_ == nullptr ? 0 : std::min(run_->last_known_step(), limit_);
  }
  // The step to go to next; 0: none.
  std::int64_t goal() const;
  bool begin();

  const RunPlan& plan_;
  CheckScope scope_;
  SessionPlace recording_;
  std::unique_ptr<LiveRun> run_;          // null: nothing was asked for yet
  std::unique_ptr<StepSource> recorded_;  // at the last step of run_
  std::optional<ForkGuard> guard_;
  std::optional<StepDigester> digester_;
  std::int64_t wanted_step_ = 0;
  std::int64_t wanted_last_ = 0;
  // The last step that can be made; what follows is not that of the recording.
  std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace hybridscope
