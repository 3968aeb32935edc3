// A record made into a whole StepTrace again, with the views that explanations and panels read:
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

// Arrays that views of a record's metadata need and the record has in another form.
struct RestoredArrays {
  std::deque<std::vector<std::uint8_t>> flags;     // bool
  std::deque<std::vector<std::int32_t>> pointers;  // batch_ptr, token_chunk_offset_ptr, whole
};

class RecordViews {
 public:
  explicit RecordViews(const EngineConfig& config) : config_(config) {}

  // The record's step; valid until the next call and as long as `record` lives. `worker_tables`:
  // after the step's changes; behind what they know a row holds null blocks. Below level full
  // groups have no metadata. common follows from the rows.
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
