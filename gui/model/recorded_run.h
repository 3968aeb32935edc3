// A run in a session file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "gui/model/shown_run.h"
#include "sessions/record/record_views.h"
#include "storage/session_player.h"

namespace hybridscope {

class RecordedRun final : public ShownRun {
 public:
  struct Options {
    std::string title = {};                       // empty: the session's
    std::shared_ptr<const void> file_owner = {};  // keeps a temporary file while it is shown
  };
  static constexpr int kStepsASlice = 12;
  static constexpr int kHitReadsASlice = 6;
  static constexpr std::size_t kSpeechStepsASlice = 64;
  static constexpr std::size_t kMostActivities = 2000;
  static constexpr std::size_t kMostPrefillSteps = 4000;
  static constexpr int kMostStepsBack = 32;
  static constexpr std::size_t kMostDecisions = 50;  // behind findings; each reads a step

  // Starts before the first step. Errors: those of SessionPlayer; a session without a step.
  static Result<std::unique_ptr<RecordedRun>> open(const SessionPlace& place) {
    return open(place, Options());
  }
  static Result<std::unique_ptr<RecordedRun>> open(const SessionPlace& place, Options options);

  std::string title() const override {
    return options_.title.empty() ? reader().title() : options_.title;
  }
  RecordLevel level() const override { return info().header.level; }
  const RunPlan* plan() const override { return plan_ ? &*plan_ : nullptr; }
  bool is_recorded() const override { return true; }
  std::string why_no_plan() const override;
  const Names& names() const override { return names_; }
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
  std::int64_t last_known_step() const override { return marks_.back().step; }
  bool is_whole() const override { return true; }
  Result<bool> forward() override;
  Result<bool> back() override;
  Status go_to(std::int64_t step) override;
  bool continue_with(const RunPlan&, std::int64_t) override { return false; }

  StepView view() const override;
  // Read from the file on first use, which takes as long as showing a step.
  const NamedStepArrays& previous_arrays() override;
  BlockFacts block_facts(std::int32_t block) override;
  std::optional<OwnCount> own_count(RequestId request) const override {
    return reader().own_count(request, step());
  }
  // Reads the step of one finding of findings() whose decision is not known, and lets the above go
  // on.
  bool load_more() override;
  ShownSpeech speech() override;
  bool awaits_speech() const override;
  std::string take_trouble() override { return std::exchange(trouble_, {}); }
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content) override;
  std::optional<CachedPrompt> cached_prompt(RequestId request) override;
  // Reads at most kHitReadsASlice times of the file, then is -1 until load_more() was called.
  std::int32_t num_hit_tokens(RequestId request) override;
  // Looks back kMostStepsBack steps.
  RequestCounts request_counts(RequestId request) override;
  std::optional<std::vector<std::int32_t>> free_queue() const override { return std::nullopt; }
  // Reads at most kStepsASlice steps of the file per call, about a millisecond each, and keeps
  // them; load_more() reads the rest.
  std::vector<StepActivity> activities(std::size_t first, std::size_t count) override;
  std::span<const StepMark> marks() const override { return marks_; }
  const FindingLog& finding_log() const override { return finding_log_; }
  const BlockFaults& block_faults() const override { return block_faults_; }
  Result<std::unique_ptr<StepSource>> source() const override;
  SessionHeader header() const override;
  std::span<const ShownBookmark> bookmarks() const override { return bookmarks_; }
  Status set_bookmark(std::int64_t step, std::string_view note) override;
  Status remove_bookmarks(std::int64_t step) override;
  std::string note() const override { return info().note; }
  // A session that is being recorded counts as interrupted.
  RunEnd end() const override;

 private:
  struct Admissions {
    std::vector<std::int64_t> steps;  // ascending
    std::int64_t read_up_to = 0;      // the last known step then
    std::int32_t run = -1;  // ScheduledTrace::run in the step shown then; -1: had no tokens
  };

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
  const Admissions* admissions_of(RequestId request);
  bool may_read_hits();
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
  std::optional<RunPlan> plan_;
  std::string plan_error_;  // why there is no plan
  struct PolicyChange {
    std::int64_t step = 0;  // the first step that has them
    PolicySet policies;
  };
  std::vector<PolicyChange> policy_changes_;  // of the plan's script, ascending
  EngineConfig config_;
  Names names_;
  RecordViews views_;
  const StepTrace* trace_ = nullptr;
  // Reads steps other than the shown one; null until it is needed.
  std::unique_ptr<SessionReader> beside_;
  NamedStepArrays previous_;
  bool previous_read_ = false;
  std::map<std::int64_t, StepActivity> activities_;  // by step
  bool lacks_activities_ = false;                    // some were requested and are not read yet
  std::map<RequestId, Admissions> admissions_of_;    // as far as read
  // Hit tokens by step and request, of the steps read so far.
  std::map<std::int64_t, std::map<RequestId, std::int32_t>> hits_;
  int hit_reads_left_ = kHitReadsASlice;  // until the next load_more()
  bool lacks_hits_ = false;               // some were requested and are not read yet
  std::vector<StepMark> marks_;
  FindingLog finding_log_;
  std::vector<std::size_t> undecided_;  // indices of findings() whose decision is to be read
  std::size_t num_listed_ = 0;          // of findings() that were looked at for that
  std::size_t num_roots_ = 0;
  BlockFaults block_faults_;
  std::vector<ShownBookmark> bookmarks_;  // as in the file after the last change
  std::optional<Speech> speech_;          // empty: no language model ran
  bool speech_is_whole_ = true;           // nothing is left to read
  std::string speech_trouble_;            // why reading it failed; empty: it did not
  std::string trouble_;                   // not reported yet
  std::string last_trouble_;              // each is reported once
  const HeldBlocks* held_ = nullptr;      // at the end of the shown step; null: not read
  bool is_unreadable_ = false;            // reading it failed and is not tried again
  // Steps that admitted the request that cached_prompt() was last asked for.
  RequestId admitted_{};
  std::vector<std::int64_t> admissions_;
  std::map<std::int64_t, std::vector<PrefillRow>> prefill_rows_;  // by step, as far as read
};

}  // namespace hybridscope
