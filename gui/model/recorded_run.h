// A run in a session file, and the run that is made again beside it for what neither steps nor
// session say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "gui/model/live_run.h"
#include "gui/model/request_log.h"
#include "gui/model/shown_run.h"
#include "sessions/live/fork.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_digests.h"
#include "storage/session_file.h"
#include "storage/session_player.h"

namespace hybridscope {

// A recorded run that is made again beside its recording, for what neither steps nor sessions keep.
// What it makes counts only as far as every step has the digests of the recorded one.

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

class RecordedRun final : public ShownRun {
 public:
  struct Options {
    std::string title = {};                       // empty: the session's
    std::shared_ptr<const void> file_owner = {};  // keeps a temporary file while it is shown
  };
  static constexpr int kStepsASlice = 12;
  static constexpr std::size_t kSpeechStepsASlice = 64;
  static constexpr std::size_t kMostActivities = 2000;
  static constexpr std::size_t kMostPrefillSteps = 4000;
  static constexpr std::size_t kMostDecisions = 50;  // behind findings; each reads a step

  // Starts before the first step. Errors: those of SessionPlayer; a session without a step.
  static Result<std::unique_ptr<RecordedRun>> open(const SessionPlace& place) {
    return open(place, Options());
  }
  static Result<std::unique_ptr<RecordedRun>> open(const SessionPlace& place, Options options);

  // The configuration in force during the shown step.
  const EngineConfig& config() const override { return config_; }
  std::int32_t num_requests() const override { return reader().num_requests(); }
  std::int64_t first_step(RequestId request) const override {
    return reader().request_first_step(request);
  }
  const SessionInfo& info() const { return reader().info(); }

  // Sees the steps that a writer has added to the session; the shown step stays. False: there are
  // none. Errors: those of SessionReader.
  Result<bool> see_new_steps();

  std::int64_t step() const override { return player_->step(); }
  StepView view() const override;
  // Read from the file on first use, which takes as long as showing a step.
  const NamedStepArrays& previous_arrays() override;
  BlockFacts block_facts(std::int32_t block) override;
  std::optional<OwnCount> own_count(RequestId request) const override {
    return reader().own_count(request, step());
  }
  // Reads the step of one finding of findings() whose decision is not known, and goes on with what
  // the other functions have begun.
  bool load_more() override;
  bool awaits_more() override;
  ShownSpeech speech() override;
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content) override;
  // Reads at most kStepsASlice steps of the file per call, about a millisecond each, and keeps
  // them; load_more() reads the rest.
  std::vector<StepActivity> activities(std::size_t first, std::size_t count) override;
  // Known when all steps were made again (RemadeRun).
  const CacheReport* cache_report() override;
  Result<std::unique_ptr<StepSource>> source(With with) const override;
  SessionHeader header() const override;
  Status set_bookmark(std::int64_t step, std::string_view note) override;
  Status remove_bookmarks(std::int64_t step) override;

 private:
  RecordedRun(std::unique_ptr<SessionPlayer> player, SessionPlace place, Options options);
  SessionReader& reader() const { return player_->reader(); }
  Status load();
  Status load_marks();
  Status mark_block_copies(std::int64_t after);
  Status load_findings(std::int64_t after);
  void load_plan();
  void list_undecided();
  bool decide_next();
  bool read_speech();
  bool awaits_speech() const;
  Status show(std::int64_t known) override;
  const CheckedRun* made_here() const override;
  // Reads what was added to the file since the last call.
  const RequestLog* requests() const override;
  RequestCounts counts_since(RequestId request, std::int64_t admitted) override;
  void note_end();
  void attach();
  void return_to(std::int64_t before);
  const HeldBlocks* held_blocks();
  std::int32_t checkpoint_of(RequestId request, std::int64_t step, std::int32_t num_tokens);
  SessionReader* beside();
  const StepRecord* schedule_beside(std::int64_t step);
  Status change_bookmarks(const std::function<Status(SessionFile&)>& change);
  void show_bookmarks(const std::vector<Bookmark>& kept);

  SessionPlace place_;
  Options options_;  // declared before the members that read the file
  std::unique_ptr<SessionPlayer> player_;
  struct PolicyChange {
    std::int64_t step = 0;  // the first step that has them
    PolicySet policies;
  };
  std::vector<PolicyChange> policy_changes_;  // of the plan's script, ascending
  EngineConfig config_;
  RecordViews views_;
  const StepTrace* trace_ = nullptr;
  // Reads steps other than the shown one; null until it is needed.
  std::unique_ptr<SessionReader> beside_;
  NamedStepArrays previous_;
  bool previous_read_ = false;
  std::map<std::int64_t, StepActivity> activities_;  // by step
  bool lacks_activities_ = false;                    // some were requested and are not read yet
  mutable RequestLog requests_;                      // lives only
  mutable std::int64_t requests_read_ = 0;           // the last known step then
  mutable bool requests_unreadable_ = false;         // reading them failed and is not tried again
  std::unique_ptr<RemadeRun> remade_;                // null: it cannot be made again
  std::vector<std::size_t> undecided_;  // indices of findings() whose decision is to be read
  std::size_t num_listed_ = 0;          // of findings() that were looked at for that
  std::size_t num_roots_ = 0;
  std::optional<Speech> speech_;      // empty: no language model ran
  bool speech_is_whole_ = true;       // nothing is left to read
  std::string speech_trouble_;        // why reading it failed; empty: it did not
  std::string last_trouble_;          // each is reported once
  const HeldBlocks* held_ = nullptr;  // at the end of the shown step; null: not read
  bool is_unreadable_ = false;        // reading it failed and is not tried again
  std::map<std::int64_t, std::map<RequestId, RanChunk>> prefill_chunks_;  // by step, as far as read
};

}  // namespace hybridscope
