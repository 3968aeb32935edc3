// A run as the workbench shows it, either made live by an engine or read from a session file: any
// of its steps, what its blocks held, and where that came from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/caching/retention.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "gui/model/finding_log.h"
#include "gui/model/live_speech.h"
#include "gui/model/request_log.h"
#include "gui/model/step_arrays.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/live_player.h"
#include "sessions/live/write_log.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_record.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

// The shown step, valid until the run moves.
struct StepView {
  const StepTrace& trace;
  const EngineConfig& config;  // in force during the step
  const Names& names;
  // After the step's cache_events and before its commit_events.
  const BlockTableMirror& scheduler_tables;
  const WorkerTables& worker_tables;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;                 // in order; empty below level full
  std::span<const WorkerTableChange> worker_changes;  // of this step; empty below level blocks
};

// What one block holds at the end of the step.
struct BlockFacts {
  bool label_known = true;   // false: not recorded, or it cannot be read
  bool writes_known = true;  // likewise
  bool registered = false;
  std::int32_t label_group = -1;
  std::int32_t label_num_tokens = 0;  // of the label's prefix
  Fingerprint block_hash = 0;
  std::int64_t registered_in = 0;  // the step; 0: not known
  // Tokens of a registered prefix that ends inside the block, the longest: of the label's prefix,
  // or of another one that the block is registered as besides; 0: there is none.
  std::int32_t partial_num_tokens = 0;
  HeldContent temporal;
  HeldContent conv;
  HeldContent attention;
  // Tokens before the recurrent state that it holds, if a prefill stored that on its way
  // (semantics: prefill-checkpoint); 0: it did not, or that is not known. Where writes are not
  // recorded: of the state that it is registered as.
  std::int32_t checkpoint = 0;
};

// Notes a prefix that the block is registered as, of the group's tokens.
void note_prefix_end(BlockFacts& facts, std::int32_t group, std::int32_t num_tokens,
                     const KVCacheConfig& config);

// What a conv position holds if not a token: numbers of tokens count from 1.
inline constexpr std::int32_t kConvBeforeFirst = 0;  // zeros
inline constexpr std::int32_t kConvNotWritten = -1;  // since the block was allocated
inline constexpr std::int32_t kConvOtherToken = -2;  // a draft that did not become output

// What the step after the shown one does if nothing is changed.
struct ComingStep {
  bool known = false;                   // false: the run cannot tell
  bool ends = false;                    // there is no such step
  StepActivity activity = {};           // if there is one
  std::vector<std::string> names = {};  // [activity.requests]
};

// What happened in a step, for the marks of the scrub bar.
struct StepMark {
  std::int64_t step = 0;
  bool copies = false;  // of states or of whole blocks
  bool evicts = false;
  bool preempts = false;
  bool warns = false;
  bool errs = false;
};

// Why the known steps of a run end, as in a session file.
struct RunEnd {
  SessionStatus status = SessionStatus::complete;
  std::string reason = {};
};

struct ShownBookmark {
  std::int64_t step = 0;
  std::string note;
  friend bool operator==(const ShownBookmark&, const ShownBookmark&) = default;
};

// Its text without the rule, the step and the request, which have their own columns.
std::string finding_message(const ShownFinding& shown, const Names& names);

// The scheduler's tables at the end of the step, its commit_events applied.
BlockTableMirror tables_after(const StepView& view);

struct LanguageModel;
class CheckedRun;

// What a live run and a recorded one are alike in is kept and answered here; what they find in
// different places they give through the virtual functions.
class ShownRun {
 public:
  ShownRun(const ShownRun&) = delete;
  ShownRun& operator=(const ShownRun&) = delete;
  virtual ~ShownRun() = default;

  const std::string& title() const { return title_; }  // "runs.db:before", "align boundary"
  RecordLevel level() const { return level_; }         // what is known of each step
  // The plan of the run; null: decisions of another engine, or a plan that cannot be read.
  const RunPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  // Why there is no plan, as a sentence without its full stop.
  const std::string& why_no_plan() const { return why_no_plan_; }
  // Was it read from a file? Running its plan again would then be another run.
  bool is_recorded() const { return is_recorded_; }
  // Names for people; valid as long as the run.
  const Names& names() const { return names_; }
  // The configuration in force during the shown step.
  virtual const EngineConfig& config() const = 0;
  virtual std::int32_t num_requests() const = 0;  // known so far
  // The first step that names the request; 0: not known.
  virtual std::int64_t first_step(RequestId request) const = 0;
  // By name. Names can be used again after their request has finished: of several requests the last
  // one to arrive up to the shown step, or else the first. -1: none.
  RequestId find_request(std::string_view name) const;

  // 0: before the first step.
  virtual std::int64_t step() const = 0;
  std::int64_t last_known_step() const { return marks_.empty() ? 0 : marks_.back().step; }
  // Is last_known_step() the end of the run?
  bool is_whole() const { return end_.has_value(); }
  // False: there is no such step, and the run stays where it is. Errors: those of the engine or the
  // file; the run stays where it is, and can still go back.
  Result<bool> forward();
  Result<bool> back();
  // To the step, or the last one before it. Error not_found: there is none.
  Status go_to(std::int64_t step);
  // If go_to(step) would take long: moves to an earlier step and returns the target, which the
  // caller then reaches by forward(), a few steps at a time. Empty: go_to() is quick, or the way is
  // not known.
  virtual std::optional<std::int64_t> begin_go_to(std::int64_t) { return std::nullopt; }
  // The step after the shown one, without going there. A live run makes a step that is not known
  // yet with a copy of its engine, which takes as long as a step and a copy of the engine's state.
  ComingStep coming_step();
  // Moves to `step` and continues with another plan, which is equal up to there; later steps are
  // forgotten. False: this is not possible; nothing changes.
  virtual bool continue_with(const RunPlan&, std::int64_t) { return false; }

  // Requires: step() > 0.
  virtual StepView view() const = 0;
  // What layers were given in the known step before the shown one, however that was reached. Step
  // 0: there is no step before, or the session does not record it.
  virtual const NamedStepArrays& previous_arrays() = 0;
  virtual BlockFacts block_facts(std::int32_t block) = 0;
  // What the request's last row before the shown step accepted; empty: it had none, or it is not
  // known.
  virtual std::optional<OwnCount> own_count(RequestId request) const = 0;
  virtual Result<WriteChain> write_chain(std::int32_t block, ContentKind content) = 0;
  // The free queue at the end of the step, next block first; empty optional: not known. Neither
  // steps nor sessions keep its order: it is that of the engine that has made the step.
  std::optional<std::vector<std::int32_t>> free_queue() const;
  // [W - 1 + K] the tokens in the block's conv positions at the end of the step; empty: not known.
  // Reads all of the owner's tokens, so call it for one block, not for all.
  std::vector<std::int32_t> conv_tokens(std::int32_t block) const;

  // Requests that had arrived and not finished when the shown step began, ascending; empty: not
  // known.
  std::vector<RequestId> unfinished() const;
  // What the steps up to the shown one left of a request that the shown step does not schedule.
  RequestCounts request_counts(RequestId request);
  // Tokens that the prefix cache served at the request's last admission up to the shown step; -1:
  // not admitted, or not known.
  std::int32_t num_hit_tokens(RequestId request) const;
  // What decides which states of the request's prompt stay cached, as of its last admission up to
  // the shown step; empty: it was not admitted yet, or that is not known.
  std::optional<CachedPrompt> cached_prompt(RequestId request) const;

  // Reads or makes another slice of what was asked for, if anything is left. True: what panels show
  // may have changed.
  virtual bool load_more() = 0;
  // Will load_more() bring more, though what panels show has not changed yet?
  virtual bool awaits_more() { return speech().is_awaited; }
  // What could not be read, returned once; empty: nothing.
  std::string take_trouble() { return std::exchange(trouble_, {}); }

  // What requests did in `count` known steps, from index `first` of marks() on. Steps that are no
  // longer kept or not read yet have `known` false. Requires: marks() has that many.
  virtual std::vector<StepActivity> activities(std::size_t first, std::size_t count) = 0;
  // One per known step, ascending.
  std::span<const StepMark> marks() const { return marks_; }
  // Findings in the known steps.
  const FindingLog& finding_log() const { return finding_log_; }
  // The first ones of each rule.
  std::span<const ShownFinding> findings() const { return finding_log_.listed(); }
  // What findings of the known steps said about the content of blocks.
  const BlockFaults& block_faults() const { return block_faults_; }
  // The cache report on all known steps; null: not known.
  virtual const CacheReport* cache_report() = 0;

  // By step. After an edit some may belong to steps that are not known, or no longer.
  std::span<const ShownBookmark> bookmarks() const { return bookmarks_; }
  // Adds a bookmark, or changes the note of the step's last one. For a session it is in the file
  // when this returns. Errors: no such step; a note that check_note refuses; the file cannot be
  // written.
  virtual Status set_bookmark(std::int64_t step, std::string_view note) = 0;
  // Removes all of the step. Errors: not_found, there is none; the file cannot be written.
  virtual Status remove_bookmarks(std::int64_t step) = 0;
  const std::string& note() const { return note_; }  // on the whole run

  // Bounds what a live run keeps in memory of its steps, copies of its engine included; older steps
  // are then made again from further back. The list of steps and requests is not counted.
  virtual void limit_history(std::size_t) {}

  // What a language model said up to the shown step.
  virtual ShownSpeech speech() = 0;
  // Lets the model run on the decisions of a live run, instead of another one; what it says comes
  // with load_more(). Others go on without.
  virtual void speak_with(const std::shared_ptr<const LanguageModel>&) {}

  // All steps again, from the first one. The run stays where it is. What a language model says
  // takes longer.
  enum class With : std::uint8_t { decisions, speech };
  virtual Result<std::unique_ptr<StepSource>> source(With with = With::decisions) const = 0;
  // Its header in a session file, without a name.
  virtual SessionHeader header() const = 0;
  RunEnd end() const;

 protected:
  ShownRun(std::string title, RecordLevel level) : title_(std::move(title)), level_(level) {}
  // Takes the findings of steps, in order.
  void note_findings(std::span<const Finding> found);
  // Keeps the decision behind findings()[index], of whose step this is the trace.
  void note_decision(std::size_t index, const StepTrace& trace, const std::optional<OwnCount>& own);
  // Moves to a known step. Errors: those of the engine or the file; the run stays where it is.
  virtual Status show(std::int64_t known) = 0;
  // From the last known step to the one after it. False: there is none.
  virtual Result<bool> make_next() { return false; }
  // The step after the last known one, which is the shown one, if that is not the end.
  virtual ComingStep look_ahead() { return {}; }
  // Engine and checker as they were at the end of the shown step; null: not known.
  virtual const CheckedRun* made_here() const = 0;
  // The requests' lives up to the shown step at least; null: not known.
  virtual const RequestLog* requests() const = 0;
  // What the steps from `admitted`, which admitted the request last, up to the shown one left of
  // it.
  virtual RequestCounts counts_since(RequestId request, std::int64_t admitted) = 0;

  std::string title_;
  RecordLevel level_;
  std::optional<RunPlan> plan_;
  std::string why_no_plan_ = "our engine did not make this run, so it cannot make it again";
  Names names_;
  bool is_recorded_ = false;
  std::optional<RunEnd> end_;  // behind last_known_step(); empty: more steps can come
  std::vector<StepMark> marks_;
  FindingLog finding_log_;
  BlockFaults block_faults_;
  std::vector<ShownBookmark> bookmarks_;
  std::string note_;
  mutable std::string trouble_;  // not reported yet; answers are read from files on demand
};

// Everything the step decided, in the words of `hybridscope run --explain`, and what the session
// does not record. Requires: run.step() > 0.
std::string step_in_words(const ShownRun& run, std::size_t columns = kPageColumns);
// "step 3: findings, evictions".
std::string mark_words(const StepMark& mark);

// The index of the step in marks(); -1: none.
std::ptrdiff_t mark_index(std::span<const StepMark> marks, std::int64_t step);
// "12 steps", "12 steps so far, more can come".
std::string known_steps_words(const ShownRun& run);
// The run's bookmarks whose step is known.
std::vector<ShownBookmark> bookmarks_of_known_steps(const ShownRun& run);

// What panels say where a session's level does not record what they show.

// "The session keeps no block tables: it was recorded at level counts." Empty: its level is above
// counts.
std::string not_kept(const ShownRun& run, std::string_view what);

// For sessions with block tables but no contents; empty for all others.
std::string contents_not_kept(const ShownRun& run);

}  // namespace hybridscope
