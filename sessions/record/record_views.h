// Turns a record back into a complete StepTrace with the views that explanations and panels read:
// the batch's common metadata, the worker's block tables and, at level full, every builder's
// metadata.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"

namespace hybridscope {

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
