// The answer to "how much of this request is cached", with the reasons
// (semantics: find-longest-cache-hit). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hybridscope {

// What made a group's part of the hit as short as it is: the last of these that shortened it.
enum class LookupStop : std::uint8_t {
  caching_off,        // prefix caching is disabled
  limit_reached,      // everything up to max_cache_hit_length (num_tokens - 1) is cached
  miss,               // a block is not cached
  eagle_drop,         // the last block is recomputed for the draft model
  alignment,          // shortened to a multiple of scheduler_block_size
  cut_to_other_group  // another group has less
};

// One KV-cache group's part in a lookup.
struct GroupLookup {
  std::int32_t present_length = 0;  // tokens found below its limit, before drop and alignment
  std::int32_t hit_length = 0;      // tokens it could serve on its own (after drop and alignment)
  std::int32_t miss_block = -1;  // block index; full attention: the first that is not there, mamba:
                                 // the highest candidate that is not there; -1: no miss
  std::int32_t planned_column = -1;  // first block of the hit that is planned but not published yet
  LookupStop stop = LookupStop::caching_off;
  friend bool operator==(const GroupLookup&, const GroupLookup&) = default;
};

struct LookupExplanation {
  std::int32_t max_cache_hit_length = 0;  // num_tokens - 1
  std::int32_t longest_hit_length = 0;    // longest length any group offered on the way
  std::int32_t num_rounds = 0;            // of the search for a common length
  std::vector<GroupLookup> groups;        // [num_groups]
  friend bool operator==(const LookupExplanation&, const LookupExplanation&) = default;
};

// get_computed_blocks. Block ids are concatenated group by group.
struct CacheHit {
  std::int32_t num_hit_tokens = 0;
  std::vector<std::int32_t> block_ids;    // [group_start.back()], null blocks included
  std::vector<std::int32_t> group_start;  // [num_groups + 1]
  std::optional<std::int32_t> num_uncached_common_prefix_tokens;  // hybrid caches only
  LookupExplanation explanation;

  std::span<const std::int32_t> blocks(std::size_t group) const {
    return std::span(block_ids).subspan(
        static_cast<std::size_t>(group_start[group]),
        static_cast<std::size_t>(group_start[group + 1] - group_start[group]));
  }
  // No group has any block.
  bool empty() const { return block_ids.empty(); }
  // The end of the longest prefix that some group had on the way, if the hit is shorter; else 0
  // (semantics: junction).
  std::int32_t shared_prefix_boundary() const {
    const std::int32_t beyond = num_uncached_common_prefix_tokens.value_or(0);
    return beyond > 0 ? num_hit_tokens + beyond : 0;
  }
  friend bool operator==(const CacheHit&, const CacheHit&) = default;
};

}  // namespace hybridscope
