#include "sessions/record/step_tables.h"

namespace hybridscope {
namespace {

std::int32_t num_groups(const EngineConfig& config) {
  return static_cast<std::int32_t>(config.kv_cache_config.groups.size());
}

}  // namespace

StepTables::StepTables(const EngineConfig& config)
    : scheduler_(num_groups(config), config.kv_cache_config.num_blocks),
      worker_(num_groups(config)) {}

void StepTables::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    scheduler_.apply(event);
    if (event.kind == CacheEventKind::table_dropped) worker_.drop(event.request);
  }
}

void StepTables::take(const StepTrace& trace, TableReach reach,
                      std::vector<WorkerTableChange>& changes) {
  apply(pending_);
  apply(trace.cache_events);
  worker_.follow(trace, scheduler_, reach, changes);
  pending_.assign(trace.commit_events.begin(), trace.commit_events.end());
}

}  // namespace hybridscope
