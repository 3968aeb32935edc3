// A run as the workbench shows it, either made live by an engine or read from a session file: any
// of its steps, what its blocks held, and where that came from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/caching/retention.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "gui/model/block_faults.h"
#include "gui/model/finding_log.h"
#include "gui/model/speech.h"
#include "gui/model/step_activity.h"
#include "gui/model/step_arrays.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/write_log.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_source.h"
#include "sessions/record/worker_tables.h"
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

// Numbers of a request when it last had a part in a step; -1: not known.
struct RequestCounts {
  std::int32_t num_prompt_tokens = -1;
  std::int32_t num_computed_tokens = -1;  // as the scheduler counts, tokens in flight included
  std::int32_t num_generated = -1;        // output tokens that have returned
  std::int32_t num_preemptions = -1;
  friend bool operator==(const RequestCounts&, const RequestCounts&) = default;
};
// Takes what the step says of the request. False: it has no part in the step.
bool take_counts(RequestCounts& counts, const StepTrace& trace, RequestId request);

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
  std::string reason;
};

struct ShownBookmark {
  std::int64_t step = 0;
  std::string note;
  friend bool operator==(const ShownBookmark&, const ShownBookmark&) = default;
};

// Its text without the rule, the step and the request, which have their own columns.
std::string finding_message(const ShownFinding& shown, const Names& names);

inline constexpr std::array<std::string_view, 6> kFindingColumns = {"Step", "Write",   "Chain",
                                                                    "Rule", "Request", "What"};
inline constexpr std::string_view kNoFindings = "No finding in the steps so far.";

// The scheduler's tables at the end of the step, its commit_events applied.
BlockTableMirror tables_after(const StepView& view);

struct LanguageModel;

class ShownRun {
 public:
  ShownRun() = default;
  ShownRun(const ShownRun&) = delete;
  ShownRun& operator=(const ShownRun&) = delete;
  virtual ~ShownRun() = default;

  virtual std::string title() const = 0;  // "runs.db:before", "align boundary by decode"
  virtual RecordLevel level() const = 0;  // what is known of each step
  // The plan of the run; null: decisions of another engine, or a plan that cannot be read.
  virtual const RunPlan* plan() const = 0;
  // Why there is no plan, as a sentence.
  virtual std::string why_no_plan() const {
    return "our engine did not make this run, so it cannot make it again";
  }
  // Was it read from a file? Running its plan again would then be another run.
  virtual bool is_recorded() const { return false; }
  // Names for people; valid as long as the run.
  virtual const Names& names() const = 0;
  virtual const EngineConfig& config() const = 0;
  virtual std::int32_t num_requests() const = 0;  // known so far
  // The first step that names the request; 0: not known.
  virtual std::int64_t first_step(RequestId) const { return 0; }
  // By name. Names can be used again after their request has finished: of several requests the last
  // one to arrive up to the shown step, or else the first. -1: none.
  RequestId find_request(std::string_view name) const;

  // 0: before the first step.
  virtual std::int64_t step() const = 0;
  virtual std::int64_t last_known_step() const = 0;  // 0: none
  // Is last_known_step() the end of the run?
  virtual bool is_whole() const = 0;
  // False: there is no such step, and the run stays where it is. Errors: those of the engine or the
  // file; the run stays where it is, and can still go back.
  virtual Result<bool> forward() = 0;
  virtual Result<bool> back() = 0;
  // The step after the shown one, without going there. A live run makes a step that is not known
  // yet with a copy of its engine, which takes as long as a step and a copy of the engine's state.
  virtual ComingStep coming_step();
  // To the step, or the last one before it. Error not_found: there is none.
  virtual Status go_to(std::int64_t step) = 0;

  // If go_to(step) would take long: moves to an earlier step and returns the target, which the
  // caller then reaches by forward(), a few steps at a time. Empty: go_to() is quick, or the way is
  // not known.
  virtual std::optional<std::int64_t> begin_go_to(std::int64_t) { return std::nullopt; }

  // Moves to `step` and continues with another plan, which is equal up to there; later steps are
  // forgotten. False: this is not possible; nothing changes.
  virtual bool continue_with(const RunPlan& plan, std::int64_t step) = 0;

  // Requires: step() > 0.
  virtual StepView view() const = 0;
  // What layers were given in the known step before the shown one, however that was reached. Step
  // 0: there is no step before, or the session does not record it.
  virtual const NamedStepArrays& previous_arrays() = 0;
  virtual BlockFacts block_facts(std::int32_t block) = 0;
  // What the request's last row before the shown step accepted; empty: it had none, or it is not
  // known.
  virtual std::optional<OwnCount> own_count(RequestId request) const = 0;
  // [W - 1 + K] the tokens in the block's conv positions at the end of the step; empty: not known.
  virtual std::vector<std::int32_t> conv_tokens(std::int32_t) const { return {}; }
  // Reads another slice of the file, if anything is left. True: what panels show may have changed.
  virtual bool load_more() { return false; }
  // What load_more() could not read, returned once; empty: nothing.
  virtual std::string take_trouble() { return {}; }
  virtual Result<WriteChain> write_chain(std::int32_t block, ContentKind content) = 0;
  // The free queue at the end of the step, next block first; empty optional: not known.
  virtual std::optional<std::vector<std::int32_t>> free_queue() const = 0;

  // What requests did in `count` known steps, from index `first` of marks() on. Steps that are no
  // longer kept or not read yet have `known` false. Requires: marks() has that many.
  virtual std::vector<StepActivity> activities(std::size_t first, std::size_t count) = 0;

  // One per known step, ascending.
  virtual std::span<const StepMark> marks() const = 0;
  // Findings in the known steps.
  virtual const FindingLog& finding_log() const = 0;
  // The first ones of each rule.
  std::span<const ShownFinding> findings() const { return finding_log().listed(); }
  // What findings of the known steps said about the content of blocks.
  virtual const BlockFaults& block_faults() const = 0;
  // By step. After an edit some may belong to steps that are not known, or no longer.
  virtual std::span<const ShownBookmark> bookmarks() const = 0;
  // Adds a bookmark, or changes the note of the step's last one. For a session it is in the file
  // when this returns. Errors: no such step; a note that check_note refuses; the file cannot be
  // written.
  virtual Status set_bookmark(std::int64_t step, std::string_view note) = 0;
  // Removes all of the step. Errors: not_found, there is none; the file cannot be written.
  virtual Status remove_bookmarks(std::int64_t step) = 0;
  virtual std::string note() const { return {}; }  // on the whole run

  // Requests that had arrived and not finished when the shown step began, ascending; empty: not
  // known.
  virtual std::vector<RequestId> unfinished() const { return {}; }
  // What the steps up to the shown one left of a request that the shown step does not schedule.
  virtual RequestCounts request_counts(RequestId) { return {}; }
  // Tokens that the prefix cache served at the request's last admission up to the shown step; -1:
  // not admitted, or not known.
  virtual std::int32_t num_hit_tokens(RequestId) { return -1; }

  // What decides which states of the request's prompt stay cached, as of its last admission up to
  // the shown step; empty: it was not admitted yet, or that is not known.
  virtual std::optional<CachedPrompt> cached_prompt(RequestId) { return std::nullopt; }

  // What a language model said up to the shown step.
  virtual ShownSpeech speech() {
    return {.why = "This run is shown without a language model: run.weights gives it one."};
  }
  // Lets the model run on the decisions of a live run, instead of another one; what it says comes
  // with load_more(). Others go on without.
  virtual void speak_with(const std::shared_ptr<const LanguageModel>&) {}
  // Will load_more() bring more of what a language model says, without anything else happening?
  virtual bool awaits_speech() const { return false; }

  // The cache report on all known steps; null: not known.
  virtual const CacheReport* cache_report() { return nullptr; }

  // All steps again, from the first one, for files and comparisons. The run stays where it is.
  virtual Result<std::unique_ptr<StepSource>> source() const = 0;
  // All steps again for files, with what a language model says, which takes longer.
  virtual Result<std::unique_ptr<StepSource>> source_to_keep() const { return source(); }
  // Its header in a session file, without a name.
  virtual SessionHeader header() const = 0;
  virtual RunEnd end() const;
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

}  // namespace hybridscope
