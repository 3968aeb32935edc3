// A run that an engine makes while it is shown.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/live_speech.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/model/shown_run.h"
#include "sessions/live/live_player.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

class LiveRun : public ShownRun, private StepSink {
 public:
  // Longer moves are run a few steps at a time between two frames.
  static constexpr std::int64_t kMostStepsAtOnce = 24;

  // What write_chain() needs of steps whose writes are no longer kept is made again, by running so
  // many first steps at most, so often at most.
  static constexpr std::int64_t kMostStepsAgain = 4000;
  static constexpr int kMostLogsAgain = 2;

  struct Options {
    CheckScope scope = CheckScope::step;
    bool logs_writes = true;  // false: StepView::writes is empty and write_chain() finds nothing
  };
  // Starts before the first step. Errors: those of LivePlayer::create.
  static Result<std::unique_ptr<LiveRun>> create(RunPlan plan, const Options& options);
  static Result<std::unique_ptr<LiveRun>> create(RunPlan plan) {
    return create(std::move(plan), Options());
  }

  const EngineConfig& config() const override { return player_->run().engine().config(); }
  std::int32_t num_requests() const override {
    return static_cast<std::int32_t>(request_names_.size());
  }
  std::int64_t first_step(RequestId request) const override {
    return requests_.first_step(request);
  }
  std::int64_t step() const override { return player_->number(); }
  std::optional<std::int64_t> begin_go_to(std::int64_t step) override;
  bool continue_with(const RunPlan& plan, std::int64_t step) override;
  StepView view() const override;
  const NamedStepArrays& previous_arrays() override { return previous_; }
  BlockFacts block_facts(std::int32_t block) override;
  std::optional<OwnCount> own_count(RequestId request) const override {
    return player_->own_counts().before(step(), request);
  }
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content) override;
  std::vector<StepActivity> activities(std::size_t first, std::size_t count) override;
  const CacheReport* cache_report() override { return cache_log_.report(last_known_step()); }
  Status set_bookmark(std::int64_t step, std::string_view note) override;
  Status remove_bookmarks(std::int64_t step) override;
  // Takes the bookmarks of the run that this one is an edit of. Requires: ordered by step.
  void take_over(std::vector<ShownBookmark> bookmarks) { bookmarks_ = std::move(bookmarks); }
  void limit_history(std::size_t bytes) override;
  // What counts against the limit, about.
  std::size_t history_bytes() const;
  ShownSpeech speech() override;
  void speak_with(const std::shared_ptr<const LanguageModel>& speaking) override;
  // Takes what the language model has said.
  bool load_more() override;
  Result<std::unique_ptr<StepSource>> source(With with) const override;
  SessionHeader header() const override;

  // How many steps were run on a copy so far.
  std::int64_t num_looked_ahead() const { return num_looked_ahead_; }
  const LivePlayer& player() const { return *player_; }

 protected:
  LiveRun(RunPlan plan, const Options& options);
  // Makes the engine. Call once, before anything else. Errors: those of LivePlayer::create.
  Status begin();
  Status show(std::int64_t known) override;
  Result<bool> make_next() override;
  const CheckedRun* made_here() const override { return &player_->run(); }

 private:
  // Runs the step on a copy of the engine, once for each step that is shown.
  ComingStep look_ahead() override;
  const RequestLog* requests() const override { return &requests_; }
  RequestCounts counts_since(RequestId request, std::int64_t) override {
    return player_->counts(request);
  }
  Result<Going> take(const CheckedStep& step) override;
  void take_findings(const CheckedStep& step);
  void note_end();
  const WriteLog* log_before(std::int64_t step);
  NamedStepArrays arrays_here() const;
  std::string name_of(RequestId request) const;
  void note_registrations(const StepTrace& trace);
  std::int64_t registered_in(std::int32_t block) const;

  Options options_;
  std::vector<std::string> request_names_;  // of all requests that a known step names
  WriteLog log_;
  std::optional<WriteLog> older_log_;  // of steps before older_log_end_
  std::int64_t older_log_end_ = 0;
  ActivityLog activities_;
  std::vector<std::vector<std::int32_t>> registrations_;  // [num_blocks] steps, ascending
  RequestLog requests_;
  // The tokens, by step and request, before a state that its prefill stored on its way.
  std::map<std::pair<std::int64_t, RequestId>, std::int32_t> checkpoints_;
  CacheLog cache_log_;
  // Copied when the step is left, because the engine overwrites it; going back runs one more step.
  NamedStepArrays previous_;
  ComingStep coming_;                // behind step coming_behind_
  std::int64_t coming_behind_ = -1;  // -1: not known of any
  std::int64_t num_looked_ahead_ = 0;
  std::size_t history_limit_ = 0;  // that was set last; 0: none was
  std::unique_ptr<LivePlayer> player_;
  std::unique_ptr<LiveSpeech> speech_;  // null: no language model runs
};

}  // namespace hybridscope
