// Turns a record back into a complete StepTrace with the views that explanations and panels read:
// the batch's common metadata, the worker's block tables (followed here from step to step) and, at
// level full, every builder's metadata.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// The worker's block tables by request: what each step changed in them, and what they hold after
// any number of changes.

// How much of a row of the worker's table is followed.
enum class TableReach : std::uint8_t {
  scheduler,  // the columns of the scheduler's table of the request
  whole_row,  // up to the last non-null block id, including stale ids past the request's blocks
};

class WorkerTables {
 public:
  explicit WorkerTables(std::int32_t num_groups);

  // Appends each column of this step's rows that changed to `changes` and applies it. A request
  // that returns after its tables were dropped starts over. `scheduler`: its tables after the
  // step's cache_events.
  void follow(const StepTrace& trace, const BlockTableMirror& scheduler, TableReach reach,
              std::vector<WorkerTableChange>& changes);

  // Applies a recorded change.
  void apply(const WorkerTableChange& change);
  // Restores a whole table: [columns]
  void set_block_ids(RequestId request, std::int32_t group, std::span<const std::int32_t> ids);
  // Forgets the tables of a request that has left.
  void drop(RequestId request);

  std::int32_t num_groups() const { return static_cast<std::int32_t>(num_groups_); }
  // [columns known so far]
  std::span<const std::int32_t> block_ids(RequestId request, std::int32_t group) const;
  // The requests that have a table, ascending.
  std::vector<RequestId> requests() const;

 private:
  void follow_row(RequestId request, std::int32_t group, std::span<const std::int32_t> row,
                  std::span<const std::int32_t> whole, std::vector<WorkerTableChange>& changes);
  std::vector<std::int32_t>& table(RequestId request, std::int32_t group);

  std::size_t num_groups_;
  std::vector<std::vector<std::int32_t>> tables_;  // [requests * groups], empty: none
};

// The scheduler's and the worker's block tables during a step, followed from trace to trace.

class StepTables {
 public:
  explicit StepTables(const EngineConfig& config);

  // Applies the next step except for its commit events, which are applied with the step after it.
  // Appends the changed columns of the worker's tables to `changes`.
  void take(const StepTrace& trace, TableReach reach, std::vector<WorkerTableChange>& changes);

  // After the last step's cache_events and before its commit_events.
  const BlockTableMirror& scheduler() const { return scheduler_; }
  const WorkerTables& worker() const { return worker_; }

 private:
  void apply(std::span<const CacheEvent> events);

  BlockTableMirror scheduler_;
  WorkerTables worker_;
  std::vector<CacheEvent> pending_;
};

// Arrays that the metadata's views need but the record stores in another form.
struct RestoredArrays {
  std::deque<std::vector<std::uint8_t>> flags;  // bool
  // batch_ptr and token_chunk_offset_ptr, in full length.
  std::deque<std::vector<std::int32_t>> pointers;
};

class RecordViews {
 public:
  explicit RecordViews(const EngineConfig& config) : config_(config) {}

  // The record's step; valid until the next call and while `record` lives. `worker_tables`: the
  // tables after the step's changes; a row is padded with null blocks past what they know. Below
  // level full, groups have no metadata. The common metadata is derived from the rows.
  const StepTrace& attach(const StepRecord& record, const WorkerTables& worker_tables);

 private:
  void attach_common();
  void attach_tables(const WorkerTables& worker_tables);
  void attach_metadata(const StepRecord& record);

  EngineConfig config_;
  StepTrace trace_;
  std::vector<std::int32_t> query_start_loc_;      // [num_reqs + 1]
  std::vector<std::int32_t> seq_lens_;             // [num_reqs]
  std::vector<std::uint8_t> is_prefilling_;        // [num_reqs]
  std::vector<std::vector<std::int32_t>> tables_;  // [groups][num_reqs * columns]
  RestoredArrays restored_;
};

}  // namespace hybridscope
