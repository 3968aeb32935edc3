// What a session is: a header, and one record per step. A record is an owning copy of the decisions
// of a StepTrace, the findings, and digests for comparisons; it is made by StepRecorder, stored and
// loaded by storage, compared by diff, and passed on by a StepSource.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/check/step_checker.h"
#include "core/engine/engine_config.h"
#include "core/language/language_values.h"
#include "core/metadata/metadata_description.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// How much of each step a session keeps; each level includes the one before.
enum class RecordLevel : std::uint8_t {
  counts,  // counts, commands, graph padding, findings, digests
  blocks,  // rows, lookups, block events, changes of the worker's tables, decisions that copy, set
           // an accepted count to 1, or lack a copy that the rule makes
  full,    // every copy decision, metadata arrays, slots of attention, writes to state
};

// A block id that a column of the worker's table holds from this step on.
struct WorkerTableChange {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t block = 0;
  friend bool operator==(const WorkerTableChange&, const WorkerTableChange&) = default;
};

// One metadata array of this step, row-major.
struct ArrayRecord {
  std::int32_t group = -1;  // -1: the whole batch
  std::string_view name{};  // the reference's name; outlives the record
  bool present = true;      // false: the array is None
  ArrayDtype dtype = ArrayDtype::int32;
  std::int32_t dims = 1;  // 0: a plain number; 1: [rows]; 2: [rows, cols]
  std::int32_t rows = 1;
  std::int32_t cols = 1;
  std::vector<std::int32_t> values;  // [rows * cols]
  friend bool operator==(const ArrayRecord&, const ArrayRecord&) = default;
};

// Totals of the step, kept at every level.
struct StepCounts {
  std::int32_t num_reqs = 0;
  std::int32_t num_prefills = 0;  // rows of class prefill
  std::int32_t num_draft_tokens = 0;
  std::int32_t num_prompt_tokens = 0;  // of requests admitted for the first time
  std::int32_t num_hit_tokens = 0;
  std::int32_t num_output_tokens = 0;  // appended by the returned frame
  std::int32_t num_finished = 0;
  std::int32_t num_preempted = 0;
  std::int32_t num_evicted = 0;  // blocks that lost their hash because they were allocated again
  std::int32_t num_state_copies = 0;  // decisions that copy, times mamba groups
  std::int64_t state_copy_bytes = 0;  // summed over all layers
  std::int32_t num_errors = 0;        // findings
  std::int32_t num_warnings = 0;
  friend bool operator==(const StepCounts&, const StepCounts&) = default;
};

template <class T, class Visit>
void for_each_count_field(T& counts, Visit&& visit) {
  visit("num_reqs", counts.num_reqs);
  visit("num_prefills", counts.num_prefills);
  visit("num_draft_tokens", counts.num_draft_tokens);
  visit("num_prompt_tokens", counts.num_prompt_tokens);
  visit("num_hit_tokens", counts.num_hit_tokens);
  visit("num_output_tokens", counts.num_output_tokens);
  visit("num_finished", counts.num_finished);
  visit("num_preempted", counts.num_preempted);
  visit("num_evicted", counts.num_evicted);
  visit("num_state_copies", counts.num_state_copies);
  visit("state_copy_bytes", counts.state_copy_bytes);
  visit("num_errors", counts.num_errors);
  visit("num_warnings", counts.num_warnings);
}

struct StepRecord {
  // Without what only a run needs (tokens, fingerprints of rows and labels, replayed_arrays) and
  // without views (common, metadata, tables of groups). What it has depends on the level.
  StepTrace trace;
  StepCounts counts;
  StepDigests digests;
  std::vector<Finding> findings;                  // their details outlive the record
  std::vector<WorkerTableChange> worker_changes;  // levels blocks and full
  std::vector<ArrayRecord> arrays;                // level full
  std::vector<StateWrite> writes;                 // level full
  StepSpeech speech;                              // of a language model that runs; every level
  // Empties all members but keeps their storage.
  void clear();
};

// Copies the step's own decisions and commands, but nothing about its requests: level counts.
void copy_counts(const StepTrace& from, StepTrace& to);
// Copies the decisions that a record keeps at level full, without arrays; reuses the storage of
// `to`.
void copy_decisions(const StepTrace& from, StepTrace& to);

// A stream of step records from any source: a session file, or an engine that runs while it is
// read.

// The part of a step that is cheap to read.
struct StepStamp {
  std::int64_t step = 0;
  StepDigests digests;
  StepCounts counts;
};

class StepSource {
 public:
  StepSource() = default;
  StepSource(const StepSource&) = delete;
  StepSource& operator=(const StepSource&) = delete;
  virtual ~StepSource() = default;

  // For display: "run.db:before", "scenario.json under reference".
  virtual std::string title() const = 0;
  virtual const EngineConfig& config() const = 0;
  virtual RecordLevel level() const = 0;
  // Do its records tell what accepted count each row leaves (OwnCounts)?
  virtual bool knows_own_counts() const { return level() != RecordLevel::counts; }
  // The version of its digests: digests of different versions cannot be compared.
  virtual std::int32_t digest_version() const { return kDigestVersion; }
  // The name of a request that some step has named.
  virtual std::string request_name(RequestId request) const = 0;

  // Moves to the next step; null after the last one. Valid until the next call. Errors: those of
  // the file or the engine behind it.
  virtual Result<const StepStamp*> next() = 0;
  // The complete record of next()'s last step; valid until the next call of next() or record().
  virtual Result<const StepRecord*> record() = 0;
};

// A step source before another one, which it asks; for sources that look at or end its steps.

class ForwardedSource : public StepSource {
 public:
  std::string title() const override { return source_->title(); }
  const EngineConfig& config() const override { return source_->config(); }
  RecordLevel level() const override { return source_->level(); }
  bool knows_own_counts() const override { return source_->knows_own_counts(); }
  std::int32_t digest_version() const override { return source_->digest_version(); }
  std::string request_name(RequestId request) const override {
    return source_->request_name(request);
  }
  Result<const StepStamp*> next() override { return source_->next(); }
  Result<const StepRecord*> record() override { return source_->record(); }

 protected:
  explicit ForwardedSource(std::unique_ptr<StepSource> source) : source_(std::move(source)) {}

 private:
  std::unique_ptr<StepSource> source_;
};

// A step source that can be ended from outside.

class InterruptibleSource final : public ForwardedSource {
 public:
  // `interrupted` is asked before each step.
  InterruptibleSource(std::unique_ptr<StepSource> source, std::function<bool()> interrupted)
      : ForwardedSource(std::move(source)), interrupted_(std::move(interrupted)) {}

  // Error not_available: it was interrupted.
  Result<const StepStamp*> next() override;

 private:
  std::function<bool()> interrupted_;
};

// The header of a session: everything except its steps.

enum class SessionKind : std::uint8_t {
  run,    // our engine; the plan can be run again
  judge,  // another engine's decisions; the plan is the trace's header line
};

enum class SessionStatus : std::uint8_t {
  recording,    // being written, or its writer was killed
  complete,     // the run ended by itself
  stopped,      // ended early on request
  interrupted,  // by the user
  failed,       // an error; status_reason has it
};

std::string_view session_kind_name(SessionKind kind);
std::string_view session_status_name(SessionStatus status);
std::string_view record_level_name(RecordLevel level);
std::string_view check_scope_name(CheckScope scope);

// The level or scope with this name; empty: none has it.
std::optional<RecordLevel> record_level_of(std::string_view name);
std::optional<CheckScope> check_scope_of(std::string_view name);

struct SessionHeader {
  std::string name;
  SessionKind kind = SessionKind::run;
  RecordLevel level = RecordLevel::blocks;
  CheckScope check = CheckScope::step;           // the scope of the checks behind the findings
  std::int32_t digest_version = kDigestVersion;  // of the program that recorded it
  // Level blocks keeps the decisions that set an accepted count to 1 and copy nothing.
  bool keeps_count_resets = true;
  std::string source;  // scenario, traffic or trace, as given by the user
  std::string model;
  std::string engine;   // profile: "safe", "reference"; judged: as in the trace
  std::string plan;     // JSON (session_plan.h); judged: the header line of the trace
  EngineConfig config;  // derived from the plan
  std::optional<SpeechInfo> language = {};  // the language model that runs; empty: none
  std::string parent_name;                  // session that it was forked from; empty: not forked
  std::int64_t parent = 0;                  // the parent's number when both are in one file; else 0
  std::int64_t forked_at = 0;               // first step that may differ from the parent

  // Can the accepted count that a request's last row left be told (OwnCounts)?
  bool knows_own_counts() const {
    return level == RecordLevel::full || (level == RecordLevel::blocks && keeps_count_resets);
  }
};

}  // namespace hybridscope
