// A run as the workbench shows it, whether an engine makes it while it is looked at or a session
// file has it: any step of it, what its blocks held, and where that came from.
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
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "gui/model/block_faults.h"
#include "gui/model/step_activity.h"
#include "gui/model/step_arrays.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/write_log.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_source.h"
#include "sessions/record/worker_tables.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// The step that is shown, valid until the run moves.
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

// One content of a block; event.kind never: nothing was written since the block was given out.
struct HeldContent {
  WriteEvent event;
  Fingerprint fingerprint = 0;  // as in StateWrite
};

// What one block holds when the step is over.
struct BlockFacts {
  bool label_known = true;   // false: not kept, not read yet, or not to be read
  bool writes_known = true;  // likewise
  bool registered = false;
  std::int32_t label_group = -1;
  std::int32_t label_num_tokens = 0;  // of the prefix that the label stands for
  Fingerprint block_hash = 0;
  std::int64_t registered_in = 0;  // the step; 0: not known
  HeldContent temporal;
  HeldContent conv;
  HeldContent attention;
};

// What a conv position holds, where it is no token: numbers of tokens count from 1.
inline constexpr std::int32_t kConvBeforeFirst = 0;  // zeros
inline constexpr std::int32_t kConvNotWritten = -1;  // since the block was given out
inline constexpr std::int32_t kConvOtherToken = -2;  // a draft that did not become output

// How much of it is asked for: labels are cheaper.
enum class FactParts : std::uint8_t { label, all };

// What happened in a step, for the marks of the scrub bar.
struct StepMark {
  std::int64_t step = 0;
  bool copies = false;
  bool evicts = false;
  bool preempts = false;
  bool warns = false;
  bool errs = false;
};

// How a run came to the last of its known steps, as a session file says it.
struct RunEnd {
  SessionStatus status = SessionStatus::complete;
  std::string reason;
};

struct ShownBookmark {
  std::int64_t step = 0;
  std::string note;
  friend bool operator==(const ShownBookmark&, const ShownBookmark&) = default;
};

// A finding of the run with its words.
struct ShownFinding {
  Finding finding;
  std::string text;
};

// Its words without the rule, the step and the request, which stand in columns of their own.
std::string finding_message(const ShownFinding& shown, const Names& names);

inline constexpr std::array<std::string_view, 5> kFindingColumns = {"Step", "Write", "Rule",
                                                                    "Request", "What"};
inline constexpr std::string_view kNoFindings = "No finding in the steps so far.";

// The scheduler's tables when the step is over, its commit_events applied.
BlockTableMirror tables_after(const StepView& view);

class ShownRun {
 public:
  ShownRun() = default;
  ShownRun(const ShownRun&) = delete;
  ShownRun& operator=(const ShownRun&) = delete;
  virtual ~ShownRun() = default;

  virtual std::string title() const = 0;  // "runs.db:before", "align boundary by decode"
  virtual RecordLevel level() const = 0;  // what is known of each step
  // The plan it is made from; null: decisions of another engine, or a plan that cannot be read.
  virtual const RunPlan* plan() const = 0;
  // Why there is none, as a sentence.
  virtual std::string why_no_plan() const {
    return "our engine did not make this run, so it cannot make it again";
  }
  // It was read of a file: another run by its plan would not be this one.
  virtual bool is_recorded() const { return false; }
  // Names for people; valid as long as the run.
  virtual const Names& names() const = 0;
  virtual const EngineConfig& config() const = 0;
  virtual std::int32_t num_requests() const = 0;  // that are known so far
  // The first step that names the request; 0: not known.
  virtual std::int64_t first_step(RequestId) const { return 0; }
  // By its name. A name is free again when its request has finished: of several, the one that came
  // last up to the step that is shown, or else the first. -1: none is called so.
  RequestId find_request(std::string_view name) const;

  // 0: before the first step.
  virtual std::int64_t step() const = 0;
  virtual std::int64_t last_known_step() const = 0;  // 0: none
  // There is nothing behind last_known_step().
  virtual bool is_whole() const = 0;
  // False: there is no such step, and the run stays where it is. Errors: those of the engine or the
  // file, with the run where it was; one that an engine refused to go on with can still go back.
  virtual Result<bool> forward() = 0;
  virtual Result<bool> back() = 0;
  // To the step, or the nearest one before it that there is. Error not_found: there is none.
  virtual Status go_to(std::int64_t step) = 0;

  // Where go_to(step) would take long: stands at a step on the way there and gives the step that
  // forward() leads to, a few at a time. Empty: go_to() is quick, or the way is not known.
  virtual std::optional<std::int64_t> begin_go_to(std::int64_t) { return std::nullopt; }

  // Goes on by another plan, which says the same of the steps up to `step`, and stands there; what
  // was known behind it is forgotten. False: it cannot, and stays as it is.
  virtual bool continue_with(const RunPlan& plan, std::int64_t step) = 0;

  // Requires: step() > 0.
  virtual StepView view() const = 0;
  // What layers were given in the known step before the one that is shown, whichever way that was
  // reached. Of step 0: there is none before, or the session does not keep it.
  virtual const StepArrays& previous_arrays() = 0;
  virtual BlockFacts block_facts(std::int32_t block, FactParts parts) = 0;
  // [W - 1 + K] the tokens in the block's conv positions when the step is over; empty: not known.
  virtual std::vector<std::int32_t> conv_tokens(std::int32_t) const { return {}; }
  // Does a slice of what is still to be read of a file. True: what panels show may have become
  // another.
  virtual bool load_more() { return false; }
  // What that could not read, told once; empty: nothing.
  virtual std::string take_trouble() { return {}; }
  virtual Result<WriteChain> write_chain(std::int32_t block, ContentKind content) = 0;
  // The free queue when the step is over, next one first; empty optional: not known.
  virtual std::optional<std::vector<std::int32_t>> free_queue() const = 0;

  // What requests did in `count` of the known steps, from number `first` of marks() on. Steps that
  // are no longer kept, or are still to be read, are there without being known. Requires: there are
  // so many.
  virtual std::vector<StepActivity> activities(std::size_t first, std::size_t count) = 0;

  // One a known step, ascending.
  virtual std::span<const StepMark> marks() const = 0;
  // Of the known steps, the first ones of each rule.
  virtual std::span<const ShownFinding> findings() const = 0;
  // Of the known steps, what findings said of the content of blocks.
  virtual const BlockFaults& block_faults() const = 0;
  // By step. Of a run that was edited some may name steps that are not known, or not any more.
  virtual std::span<const ShownBookmark> bookmarks() const = 0;
  // Adds one, or gives the last one of the step another note. A session has it in its file when
  // this returns. Errors: no such step; a note that check_note refuses; the file cannot be written.
  virtual Status set_bookmark(std::int64_t step, std::string_view note) = 0;
  // All of the step. Errors: not_found, there is none; the file cannot be written.
  virtual Status remove_bookmarks(std::int64_t step) = 0;
  virtual std::string note() const { return {}; }  // of the whole run

  // Requests that had come and had not finished when the shown step began, ascending; empty: not
  // known.
  virtual std::vector<RequestId> unfinished() const { return {}; }
  // Tokens that the prefix cache served when the request was admitted last, up to the shown step;
  // -1: it was not, or that is not known.
  virtual std::int32_t num_hit_tokens(RequestId) const { return -1; }

  // Why requests were served what they were, of all known steps; null: not known.
  virtual const CacheReport* cache_report() { return nullptr; }

  // All steps anew, from the first one: for files and comparisons. The run stays where it is.
  virtual Result<std::unique_ptr<StepSource>> source() const = 0;
  // What a session file says of it; without a name.
  virtual SessionHeader header() const = 0;
  virtual RunEnd end() const;
};

// Everything the step decided, as `hybridscope run --explain` says it, and what the session does
// not keep of it. Requires: run.step() > 0.
std::string step_in_words(const ShownRun& run);
// "step 3: findings, evictions".
std::string mark_words(const StepMark& mark);

// Which of the known steps is shown: index into marks(); -1: none.
std::ptrdiff_t mark_index(std::span<const StepMark> marks, std::int64_t step);
// Of the run, those whose step is known.
std::vector<ShownBookmark> bookmarks_of_known_steps(const ShownRun& run);

}  // namespace hybridscope
