// Follows a run step by step and reports, for every admission, why the prefix cache served what it
// did.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/trace/step_trace.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/cache_report/prefix_tree.h"

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

  // The keys of a request's prefixes. Prefixes are hashed only as far as they are asked for.
  struct RequestKeys {
    TokenSequence tokens;
    PrefixFingerprints prefix;
    std::int32_t hash_block_size = 1;
    std::int32_t hash_lookahead = 0;

    // The key of a prefix of `num_tokens` tokens in a group.
    BlockKey key(std::int32_t num_tokens, std::int32_t group);
  };

  // A state of the first recurrent group that is in the cache.
  struct CachedState {
    std::int32_t num_tokens = 0;
    std::int32_t block = 0;
    std::int64_t step = 0;  // in which it was registered
  };

  void make_room_for(RequestId request);
  void forget_states(const CacheEvent& event, std::int64_t step);
  RequestKeys keys_of(const AddRequest& request) const;
  CacheEvent with_its_key(CacheEvent event);
  void take_cache_events(const StepTrace& trace);
  void take_event(std::span<const CacheEvent> events, std::size_t index, std::int64_t step);
  void take_lookup(const StepTrace& trace, const AdmissionLookup& lookup);
  void cut_down(Admitting& admitting, LookupReport& report) const;
  void look_into_cache(Admitting& admitting, LookupReport& report) const;
  std::int32_t attention_extent(Admitting& admitting, std::int32_t limit) const;
  std::int32_t end_of_computed(const Admitting& admitting, const LookupReport& report,
                               std::int32_t num_keyed) const;
  bool has_unpublished_block(Admitting& admitting, const LookupReport& report) const;
  std::int32_t next_key(Admitting& admitting, const LookupReport& report) const;
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
  // The keys of running requests, kept where keys look ahead, because an event tells only the
  // prefix.
  std::unordered_map<std::int32_t, RequestKeys> keys_;
  BlockHistory history_;
  StoredStates stored_;
  bool resets_ = false;                     // the step began with a reset of the prefix cache
  std::vector<std::int32_t> num_computed_;  // [requests] before the step
  // [requests] boundaries at which a state was kept.
  std::vector<std::vector<CachedState>> states_;
  std::vector<LookupReport> lookups_;
  CacheTotals totals_;
};

}  // namespace hybridscope
