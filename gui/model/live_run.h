// A run that an engine makes while it is shown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gui/model/cache_log.h"
#include "gui/model/live_speech.h"
#include "gui/model/shown_run.h"
#include "sessions/live/live_player.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

class LiveRun final : public ShownRun {
 public:
  // Longer moves are run a few steps at a time between two frames.
  static constexpr std::int64_t kMostStepsAtOnce = 24;

  // Starts before the first step. Errors: those of LivePlayer::create.
  static Result<std::unique_ptr<LiveRun>> create(RunPlan plan, CheckScope scope = CheckScope::step);

  std::string title() const override { return plan_.name; }
  RecordLevel level() const override { return RecordLevel::full; }
  const RunPlan* plan() const override { return &plan_; }
  const Names& names() const override { return names_; }
  const EngineConfig& config() const override { return player_->run().engine().config(); }
  std::int32_t num_requests() const override {
    return static_cast<std::int32_t>(request_names_.size());
  }

  std::int64_t step() const override { return player_->number(); }
  std::int64_t last_known_step() const override { return player_->last_known_step(); }
  bool is_whole() const override { return whole_; }
  Result<bool> forward() override;
  Result<bool> back() override;
  Status go_to(std::int64_t step) override;
  std::optional<std::int64_t> begin_go_to(std::int64_t step) override;
  bool continue_with(const RunPlan& plan, std::int64_t step) override;

  StepView view() const override;
  const NamedStepArrays& previous_arrays() override { return previous_; }
  BlockFacts block_facts(std::int32_t block) override;
  std::optional<OwnCount> own_count(RequestId request) const override {
    return requests_.own_count(request, step());
  }
  // Reads all of the owner's tokens, so call it for one block, not for all.
  std::vector<std::int32_t> conv_tokens(std::int32_t block) const override;
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content) override;
  std::optional<std::vector<std::int32_t>> free_queue() const override;
  std::vector<StepActivity> activities(std::size_t first, std::size_t count) override;
  std::span<const StepMark> marks() const override { return marks_; }
  const FindingLog& finding_log() const override { return finding_log_; }
  const BlockFaults& block_faults() const override { return block_faults_; }
  std::span<const ShownBookmark> bookmarks() const override { return bookmarks_; }
  Status set_bookmark(std::int64_t step, std::string_view note) override;
  Status remove_bookmarks(std::int64_t step) override;
  // Takes the bookmarks of the run that this one is an edit of. Requires: ordered by step.
  void take_over(std::vector<ShownBookmark> bookmarks) { bookmarks_ = std::move(bookmarks); }
  std::vector<RequestId> unfinished() const override { return requests_.unfinished(step()); }
  std::int64_t first_step(RequestId request) const override {
    return requests_.first_step(request);
  }
  std::int32_t num_hit_tokens(RequestId request) override {
    return requests_.num_hit_tokens(request, step());
  }
  std::optional<CachedPrompt> cached_prompt(RequestId request) override {
    return requests_.cached_prompt(request, step());
  }
  RequestCounts request_counts(RequestId request) override;
  // Runs the step on a copy of the engine, once for each step that is shown.
  ComingStep coming_step() override;
  // How many steps were run on a copy so far.
  std::int64_t num_looked_ahead() const { return num_looked_ahead_; }
  ShownSpeech speech() override;
  void speak_with(const std::shared_ptr<const LanguageModel>& speaking) override;
  bool awaits_speech() const override;
  // Takes what the language model has said.
  bool load_more() override;
  const CacheReport* cache_report() override { return cache_log_.report(last_known_step()); }
  Result<std::unique_ptr<StepSource>> source() const override;
  Result<std::unique_ptr<StepSource>> source_to_keep() const override;
  SessionHeader header() const override;

  const LivePlayer& player() const { return *player_; }

 private:
  LiveRun(RunPlan plan, CheckScope scope);
  void take(const CheckedStep& step);
  void take_findings(const CheckedStep& step);
  Status stand_at(std::size_t known);
  NamedStepArrays arrays_here() const;
  std::string name_of(RequestId request) const;
  void note_registrations(const StepTrace& trace);
  std::int64_t registered_in(std::int32_t block) const;

  RunPlan plan_;
  CheckScope scope_;
  std::vector<std::string> request_names_;  // of all requests that a known step names
  Names names_;
  WriteLog log_;
  ActivityLog activities_;
  std::vector<std::vector<std::int32_t>> registrations_;  // [num_blocks] steps, ascending
  RequestLog requests_;
  bool stores_checkpoints_ = false;
  CacheLog cache_log_;
  std::vector<StepMark> marks_;
  FindingLog finding_log_;
  BlockFaults block_faults_;
  std::vector<ShownBookmark> bookmarks_;  // by step
  // Copied when the step is left, because the engine overwrites it; going back runs one more step.
  NamedStepArrays previous_;
  bool whole_ = false;
  ComingStep coming_;                // behind step coming_behind_
  std::int64_t coming_behind_ = -1;  // -1: not known of any
  std::int64_t num_looked_ahead_ = 0;
  std::unique_ptr<LivePlayer> player_;
  std::unique_ptr<LiveSpeech> speech_;  // null: no language model runs
};

}  // namespace hybridscope
