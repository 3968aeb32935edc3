// The worker's block tables by request, followed from step to step: what each step changed in them,
// and what they hold after any number of changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

class WorkerTables {
 public:
  explicit WorkerTables(std::int32_t num_groups);

  // Appends to `changes` each column that a row of this step holds otherwise than before, as far as
  // the scheduler's table of the request reaches (behind it a row keeps what was there before it),
  // and takes the changes over. A request that comes back after its tables were dropped starts
  // anew. `scheduler`: after the step's cache_events.
  void follow(const StepTrace& trace, const BlockTableMirror& scheduler,
              std::vector<WorkerTableChange>& changes);

  // Takes over recorded changes.
  void apply(const WorkerTableChange& change);
  // Restores a whole table: [columns]
  void set_block_ids(RequestId request, std::int32_t group, std::span<const std::int32_t> ids);
  // The request has left; its tables are forgotten.
  void drop(RequestId request);

  std::int32_t num_groups() const { return static_cast<std::int32_t>(num_groups_); }
  // [columns known so far]
  std::span<const std::int32_t> block_ids(RequestId request, std::int32_t group) const;
  // Requests that have a table, ascending.
  std::vector<RequestId> requests() const;

 private:
  std::vector<std::int32_t>& table(RequestId request, std::int32_t group);

  std::size_t num_groups_;
  std::vector<std::vector<std::int32_t>> tables_;  // [requests * groups], empty: none
};

}  // namespace hybridscope
