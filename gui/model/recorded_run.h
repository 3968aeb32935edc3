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
#include "gui/model/prefill_chunk.h"
#include "gui/model/remade_run.h"
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
