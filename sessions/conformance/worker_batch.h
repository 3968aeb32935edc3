// The V1 worker's bookkeeping, rebuilt from what the scheduler reports: rows, block
// lists and accepted counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/engine/batch_rows_v1.h"
#include "sessions/conformance/vector_requests.h"
#include "sessions/conformance/vector_value.h"
#include "sessions/replay/scheduler_replay.h"

namespace hybridscope {

class WorkerBatch {
 public:
  explicit WorkerBatch(const EngineConfig& config);

  // Takes over a step: finished requests are forgotten; those without tokens, and resumed ones,
  // leave the batch; new ones, then returning ones, take the lowest free rows; the last rows fill
  // what is left free.
  void update(const ReplayedSchedule& schedule);

  // Throws at the member of a worker_step call that is not as the rebuilt one: req_ids,
  // num_computed_tokens, block_ids, and num_accepted_tokens_cpu as far as there are rows.
  void check(const VectorValue& call) const;

  // The counts after the step, by row.
  void set_num_accepted_tokens(std::span<const std::int32_t> num_accepted_tokens);

 private:
  struct Known {
    GroupBlockIds block_ids;  // old entries are never changed on the worker
    std::int32_t num_computed_tokens = 0;
  };

  void leave(const std::string& name);
  void take(const ReplayedRequest& request);
  std::vector<std::string> row_names() const;

  EngineConfig config_;
  VectorRequests requests_;
  std::map<std::string, Known> known_;
  std::map<RequestId, std::string> names_;
  BatchRowsV1 rows_;
};

}  // namespace hybridscope
