// Why the prefix cache served an admitted request as much as it did. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/caching/block_pool.h"
#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/cache_report/prefix_tree.h"

namespace hybridscope {

// Why a registered prefix was lost.
enum class EvictionCause : std::uint8_t {
  allocation,   // the block was given to a request
  overwritten,  // its holder registered it under a longer prefix
  reset,        // reset_prefix_cache
  moved,        // another block got its keys
  not_kept      // the block became that of a checkpoint that the retention interval leaves out
};

// How one group lost a prefix.
struct Eviction {
  std::int64_t step = 0;  // 0: never lost
  RequestId by{};         // reset: invalid
  EvictionCause cause = EvictionCause::reset;
  std::int32_t group = -1;
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;  // of the prefix
  friend bool operator==(const Eviction&, const Eviction&) = default;
};

class BlockHistory {
 public:
  explicit BlockHistory(std::int32_t num_blocks);

  // Call in order of events. The event after an eviction says its cause; the caller looks it up.
  // A key that is taken from a block in the step in which it was registered was never there.
  void registered(const CacheEvent& event, std::int64_t step);
  void withdrawn(const CacheEvent& event, std::int64_t step);
  void evicted(const CacheEvent& event, const Eviction& how);

  // Is a block registered under the key now?
  bool is_there(const BlockKey& key) const;
  // Was the prefix registered before `step`, so that a lookup of `step` could have used it?
  bool was_there(const BlockKey& key, std::int64_t step) const;
  // The last time that a block lost the key; step 0: never.
  Eviction last_eviction(const BlockKey& key) const;

 private:
  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const {
      return static_cast<std::size_t>(mix(key.block_hash, static_cast<std::uint64_t>(key.group)));
    }
  };
  struct Label {
    BlockKey key;
    std::int32_t num_tokens = 0;
  };

  struct Registration {
    std::int64_t first_step = 0;
    std::int32_t num_blocks = 0;  // registered under the key now
  };

  std::unordered_map<BlockKey, Registration, KeyHash> registrations_;
  std::unordered_map<BlockKey, Eviction, KeyHash> evictions_;
  // [num_blocks] of each block; more than one with hits inside blocks
  std::vector<std::vector<Label>> labels_;

  void forget(const Label& label, std::int64_t first_step);
};

// Why tokens shared with an earlier request were computed again, in the order in which the common
// prefix is cut down to the hit.
enum class MissReason : std::uint8_t {
  caching_off,        // nothing is cached
  last_token,         // the last known token is always computed for its logits
  block_granularity,  // past the last boundary of the grid on which hits end, or computed but
                      // inside a block of which only whole prompts and whole blocks have keys
  eagle_drop,         // the draft model needs the last block computed again
  not_computed,       // no request had computed and published them at the lookup
  state_missing,      // attention had them, but no state was kept at that boundary
  evicted             // they were cached once, but their blocks were given to others
};
inline constexpr std::size_t kNumMissReasons = 7;

// Slug ("state_missing") and column heading ("state missing").
std::string_view miss_reason_slug(MissReason reason);
std::string_view miss_reason_name(MissReason reason);

using LostTokens = std::array<std::int64_t, kNumMissReasons>;  // by reason

// One admission. hit + sum of lost = common.num_tokens.
struct LookupReport {
  std::int64_t step = 0;
  RequestId request{};
  Admission admission = Admission::new_request;
  std::int32_t run = 0;  // number of preemptions before
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_tokens = 0;  // known at the lookup
  // The prefix shared with the sequence (prompt, then output) of a request admitted before,
  // possibly an earlier run of itself.
  CommonPrefix common{};
  std::int32_t num_hit_tokens = 0;
  std::int32_t num_possible_tokens = 0;  // the hit if the cache held all of the common prefix
  LostTokens lost{};

  // Details of the reasons, where they apply.
  // Part of block_granularity: tokens that a request had computed, inside a block, with no key
  // there that the lookup could use. They lie before those that were not computed.
  std::int32_t num_unkeyed_tokens = 0;
  std::int32_t next_key = 0;  // the first key of that block that the lookup could not use; 0: none
  // Tokens of the common prefix, on the grid, that attention has or had.
  std::int32_t num_computed_tokens = 0;
  std::int32_t last_state = 0;   // its highest boundary that has a state, kept or evicted
  UnkeptState unkept_state{};    // after last_state: the other request had it, but it was not kept
  std::int32_t next_state = -1;  // next boundary where the other request kept a state; -1: none
  Eviction evicted_state{};      // step 0: none
  Eviction evicted_attention{};  // the first of its blocks that was evicted; step 0: none

  std::int64_t num_lost_tokens() const { return common.num_tokens - num_hit_tokens; }
  std::int64_t lost_to(MissReason reason) const { return lost[static_cast<std::size_t>(reason)]; }
};

// Sums over lookups.
struct CacheTotals {
  std::int64_t lookups = 0;
  std::int64_t resumed = 0;  // lookups after a preemption
  std::int64_t tokens = 0;   // known tokens
  std::int64_t common_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t lookups_with_common_tokens = 0;
  std::int64_t lookups_with_hit = 0;
  LostTokens lost{};

  void add(const LookupReport& report);
};

// The possible lengths of a prefix cache hit under a configuration, independent of what the cache
// holds (semantics: find-longest-cache-hit; HybridKVCacheCoordinator.find_longest_cache_hit).

struct CacheRules {
  bool caching = false;
  std::int32_t grid = 1;         // tokens; every hit is a multiple of it
  std::int32_t block_size = 1;   // of the recurrent groups; a hit on the grid may end inside
  std::int32_t eagle_block = 0;  // tokens after the hit that must be found too and are computed
                                 // again for the draft model; 0: none
  // MambaEagleLookahead::longer_limit: tokens by which a state may lie beyond what attention
  // serves; 0: none.
  std::int32_t state_lookahead = 0;
  // Tokens after the hit that have to be in common because the keys of blocks cover them
  // (semantics: look-ahead-hashes).
  std::int32_t hash_lookahead = 0;
  // EagleMargin::hash_block_to_the_last_hash: a block that is dropped may end with the last token.
  bool finds_last_block = false;
  bool has_states = false;
  friend bool operator==(const CacheRules&, const CacheRules&) = default;
};

CacheRules cache_rules(const EngineConfig& config);

// The longest prefix of a request with `num_tokens` known tokens that attention is asked for.
std::int32_t longest_key(const CacheRules& rules, std::int32_t num_tokens);

// The hit of a request with `num_tokens` known tokens if the cache held every block and every
// boundary state of its first `num_common` tokens. The last known token is never served: its logits
// are needed.
std::int32_t longest_possible_hit(const CacheRules& rules, std::int32_t num_common,
                                  std::int32_t num_tokens);

// The shortest prefix that a request must share with an earlier one to get any hit. Empty: no
// prefix is ever served.
std::optional<std::int32_t> smallest_cacheable_prefix(const CacheRules& rules);

// Tokens of the shortest request that such a prefix serves. Empty: there is none.
std::optional<std::int32_t> smallest_cacheable_prompt(const CacheRules& rules);

}  // namespace hybridscope
