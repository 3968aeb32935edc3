// One step as a session keeps it: an owning copy of the decisions of a StepTrace, the findings, and
// digests for comparisons. Made by StepRecorder, stored and loaded by storage, compared by diff.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/language/language_values.h"
#include "core/metadata/metadata_description.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_digests.h"

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

}  // namespace hybridscope
