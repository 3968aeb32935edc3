// Follows a run step by step and reports, for every admission, why the prefix cache served what it
// did.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/trace/step_trace.h"
#include "sessions/cache_report/cacheable_prefix.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/cache_report/prefix_tree.h"
#include "sessions/cache_report/stored_states.h"

namespace hybridscope {

// A lookup whose request was refused and stayed in the queue is not reported: only the one that
// admits counts. "Earlier requests" are those admitted before, also within the same step.
class CacheReport {
 public:
  // The request as the engine was given it; valid until the next call.
  using RequestOf = std::function<const AddRequest&(RequestId)>;

  CacheReport(const EngineConfig& config, RequestOf request_of);

  // Every step from the first one on, in order.
  void add(const StepTrace& trace);

  const CacheRules& rules() const { return rules_; }
  const std::vector<LookupReport>& lookups() const { return lookups_; }
  const CacheTotals& totals() const { return totals_; }

 private:
  struct Admitting;  // the lookup being examined

  void make_room_for(RequestId request);
  void take_cache_events(const StepTrace& trace);
  void take_event(std::span<const CacheEvent> events, std::size_t index, std::int64_t step);
  void take_lookup(const StepTrace& trace, const AdmissionLookup& lookup);
  void cut_down(Admitting& admitting, LookupReport& report) const;
  void look_into_cache(Admitting& admitting, LookupReport& report) const;
  std::int32_t attention_extent(Admitting& admitting, std::int32_t limit) const;
  bool ends_inside_block_of_other(const LookupReport& report, std::int32_t num_tokens) const;
  bool had_state(Admitting& admitting, std::int32_t num_tokens) const;
  void find_evictions(Admitting& admitting, LookupReport& report) const;
  void note_progress(const StepTrace& trace);

  struct Group {
    std::int32_t group = 0;
    std::int32_t block_size = 0;
  };

  RequestOf request_of_;
  CacheRules rules_;
  std::uint64_t seed_ = 0;
  std::int32_t hash_block_size_ = 1;
  std::vector<Group> attention_groups_;
  std::vector<Group> mamba_groups_;
  PrefixTree sequences_;  // of the admitted requests
  BlockHistory history_;
  StoredStates stored_;
  std::vector<RequestId> checkpoints_;      // requests of the step that store a state on the way
  std::vector<std::int32_t> num_computed_;  // [requests] before the step
  // [requests] boundaries at which a state was kept.
  std::vector<std::vector<std::int32_t>> states_;
  std::vector<LookupReport> lookups_;
  CacheTotals totals_;
};

}  // namespace hybridscope
