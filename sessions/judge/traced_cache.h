// What a line of a trace says of the cache beyond block tables (docs/trace-format.md): copies of
// whole blocks, states stored inside a prefill, and the hashes that blocks got and lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// What cache events did to the hashes of blocks, as one difference between two times: a hash that
// was registered and lost in between is not in it.

// First everything in `lost` happened, then everything in `registered`.
struct HashDifference {
  // Events evicted (the block lost all hashes) and withdrawn (the one of event.num_tokens).
  std::vector<CacheEvent> lost;
  std::vector<CacheEvent> registered;  // in the order in which it happened
};

class HashChanges {
 public:
  // Follows events, in order. Requires: they follow those of the call before.
  void apply(std::span<const CacheEvent> events);

  // The difference since the last call. `all_lost`: the reader knows already that every hash that
  // there was is lost (a reset), so only registrations are named.
  HashDifference take(bool all_lost);

 private:
  // A hash of a block, and its place in the order of registrations.
  struct Hash {
    CacheEvent event;
    std::int64_t number = 0;
  };
  using Hashes = std::vector<Hash>;  // of a block, in order of registration

  void add_lost(std::int32_t block, const Hashes& before, const Hashes& now, Hashes& registered,
                std::vector<CacheEvent>& lost) const;

  std::map<std::int32_t, Hashes> hashes_;  // [block]
  std::map<std::int32_t, Hashes> before_;  // [block] of those that changed since the last take
  std::int64_t num_registered_ = 0;
};

using NameOfRequest = std::function<std::string(RequestId)>;

// scheduler_output/kv_cache_block_copies: one object a copy, in stream order.
nlohmann::ordered_json block_copies_json(const StepTrace& trace, const NameOfRequest& name_of);

// prefill_checkpoints: what the scheduler made room for and what the layers are told to store.
// `tables`: the scheduler's, after scheduling.
nlohmann::ordered_json prefill_checkpoints_json(const StepTrace& trace,
                                                MambaCacheMode mamba_cache_mode,
                                                const BlockTableMirror& tables,
                                                const NameOfRequest& name_of);

// block_hashes or block_hashes_after_output; what is empty is left out.
nlohmann::ordered_json block_hashes_json(const HashDifference& difference,
                                         const NameOfRequest& name_of);

}  // namespace hybridscope
