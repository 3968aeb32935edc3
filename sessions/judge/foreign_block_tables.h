// Told block tables become the cache events that led to them: what was given out, shared, taken
// back, and which blocks carry which prefix from now on. The judge's side of the prefix cache
// (docs/semantics/caching.md).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_requests.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

class ForeignBlockTables {
 public:
  // Errors: group sizes the coordinator refuses.
  static Result<ForeignBlockTables> create(const ForeignHeader& header);

  // Appends to trace.cache_events what led from the last step's tables to this one's; of a block
  // that a request got: a hit if it was admitted in this step and the column is one of its computed
  // tokens' (`trace.scheduled` says), given out otherwise. Columns that change places within a
  // request keep their content.
  void follow(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);

  // Appends registrations, and trace.label_history with them: full blocks of known and scheduled
  // tokens, as KVCacheManager.cache_blocks plans them, or as far as num_cached_block says.
  void register_blocks(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);

  // Appends registrations to trace.commit_events: what a running request has computed, when a frame
  // of it returns asynchronously (semantics: update-from-output-async; vLLM
  // KVCacheManager.cache_blocks).
  void register_computed_blocks(RequestId request, std::int32_t num_tokens,
                                ForeignRequests& requests, StepTrace& trace);

  const BlockTableMirror& tables() const { return tables_; }

 private:
  ForeignBlockTables(const EngineConfig& config, HybridCoordinator coordinator);

  struct Change {
    std::int32_t column = 0;
    std::int32_t block = 0;
  };
  // Where registrations go, and the fingerprints that belong to them.
  struct Registrations {
    std::vector<CacheEvent>& events;
    std::vector<Fingerprint>& label_history;
  };
  void record(std::vector<CacheEvent>& events, const CacheEvent& event);
  void drop_all_labels(StepTrace& trace);
  void drop_tables(RequestId request, StepTrace& trace);
  void free_block(RequestId request, std::int32_t group, std::int32_t block, StepTrace& trace);
  void give_block(RequestId request, std::int32_t group, const Change& entering,
                  std::int32_t num_hit_columns, StepTrace& trace);
  void collect_changes(RequestId request, std::int32_t group, std::span<const std::int32_t> now);
  void take_left_blocks(const ForeignStep& step, StepTrace& trace);
  void take_new_lists(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);
  std::vector<std::int32_t>& num_cached_block(ForeignRequest& known) const;
  void register_columns(RequestId request, std::int32_t group, std::int32_t end,
                        ForeignRequest& known, const Registrations& registrations);

  EngineConfig config_;
  HybridCoordinator coordinator_;
  BlockTableMirror tables_;
  std::vector<std::int32_t> ref_cnt_;   // [num_blocks]
  std::vector<std::uint8_t> labelled_;  // [num_blocks]

  // Of one table under way.
  std::vector<Change> leaving_;   // columns whose block goes away
  std::vector<Change> entering_;  // columns that get a block the request did not have
};

}  // namespace hybridscope
