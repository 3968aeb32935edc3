// What a run gave its V1 runner in each step and what the runner made of it: the literals of
// `export --as runner-test`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check/finding.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// One request of a scheduler output.
struct RunnerRequest {
  std::string request;
  Admission admission = Admission::running;
  std::int32_t num_computed_tokens = 0;  // as the scheduler counts
  std::int32_t num_output_tokens = 0;    // as the scheduler counts, frames in flight included
  std::int32_t num_scheduled_tokens = 0;
  std::int32_t num_draft_tokens = 0;
  bool placeholder_drafts = false;  // they are -1
  // [groups] running: the blocks added to its table; admitted: the whole table.
  std::vector<std::vector<std::int32_t>> new_blocks;
  friend bool operator==(const RunnerRequest&, const RunnerRequest&) = default;
};

// One row of the batch.
struct RunnerRow {
  std::string request;
  std::int32_t num_computed_tokens = 0;           // exact
  bool runs_as_decode = false;                    // as the builders class it
  std::int32_t column = -1;                       // mode align: the running one
  std::int32_t num_accepted_tokens_before = 1;    // before pre-copies
  std::int32_t num_accepted_tokens = 1;           // as given to the builders
  std::int32_t num_draft_count = -1;              // of RowTrace
  std::vector<std::vector<std::int32_t>> tables;  // [groups][columns]
  bool is_wrong = false;                          // the run has a finding on what the row reads
  std::int32_t checkpoint_position = 0;           // of ScheduledTrace
  std::int32_t checkpoint_column = -1;
  std::int32_t num_sampled_tokens = 0;
  friend bool operator==(const RunnerRow&, const RunnerRow&) = default;
};

struct RunnerStep {
  std::int64_t step = 0;
  std::vector<std::string> finished;   // since the step before
  std::vector<std::string> preempted;  // by the scheduler
  std::vector<RunnerRequest> scheduled;
  std::vector<RunnerRow> rows;
  std::vector<BlockCopy> block_copies;  // of whole blocks, before anything else
  std::vector<StateCopyTrace> pre_copies;
  std::vector<StateCopyTrace> post_copies;
};

// Makes the steps one after the other. Keeps which blocks the runner has been told of.
class RunnerLog {
 public:
  explicit RunnerLog(MambaCacheMode mamba_cache_mode) : mamba_cache_mode_(mamba_cache_mode) {}

  // Requires: `tables` is the scheduler's after this step was scheduled.
  RunnerStep step_of(const StepTrace& trace, std::span<const Finding> findings,
                     const BlockTableMirror& tables, const Names& names);

 private:
  RunnerRequest request_of(const ScheduledTrace& scheduled, const BlockTableMirror& tables,
                           const Names& names);

  MambaCacheMode mamba_cache_mode_;
  std::vector<std::string> finished_;                                  // told with the next step
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> told_;  // {request, group}: columns
};

}  // namespace hybridscope
