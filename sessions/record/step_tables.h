// The scheduler's and the worker's block tables during a step, followed from trace to trace.
#pragma once

#include <span>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"

namespace hybridscope {

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

}  // namespace hybridscope
