// What the cache did and answered in one step: what happened to blocks and block tables, in order,
// and how much of a request was cached. The engine hands both to the step's trace; checks, panels
// and sessions rebuild block tables and reference counts from the events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"

namespace hybridscope {

enum class CacheEventKind : std::uint8_t {
  allocated,   // popped from the free queue: block, ref_cnt 1
  touched,     // a cached block gained a reference: block, ref_cnt after
  freed,       // lost a reference: block, ref_cnt after (0: back in the free queue)
  evicted,     // lost its hash, or all its hashes: block
  registered,  // block of `request` planned under `block_hash` as the state or the keys and values
               // after `num_tokens` tokens; its content is due at the end of this step
  withdrawn,   // a planned registration taken back before its content existed: block; num_tokens:
               // of the hash, if the block keeps hashes of steps before
  column_set,  // block_table[request][group][column] = block (null block: emptied)
  table_dropped,  // block_table[request][group] has no columns any more
  free_deferred,  // left a table but keeps the reference, as a KV connector may write to it until
                  // the frames in flight have returned: block
  free_due,       // those frames have returned; `freed` follows: block
  copied_from,    // the step copies the block to that of the next event before anything else
  copied_to       // the block that the copy goes to
};

struct CacheEvent {
  CacheEventKind kind = CacheEventKind::allocated;
  std::int32_t group = -1;      // KV-cache group, -1 where it has no meaning
  RequestId request;            // invalid where it has no meaning
  std::int32_t column = -1;     // index into the request's block list of the group; registered: -1
                                // for a copy that only the prefix cache holds
  std::int32_t block = 0;       // block id
  std::int32_t ref_cnt = 0;     // after the event
  std::int32_t num_tokens = 0;  // registered: tokens of the prefix the block stands for
  Fingerprint block_hash = 0;   // registered: fingerprint of that prefix
  friend bool operator==(const CacheEvent&, const CacheEvent&) = default;
};

// A copy of a whole block (semantics: copy-on-write).
struct BlockCopy {
  RequestId request;
  std::int32_t group = -1;
  std::int32_t source_block = 0;
  std::int32_t block = 0;
};

// The copies among the events, in order. A copied_from that ends the list is left out.
inline std::vector<BlockCopy> block_copies_of(std::span<const CacheEvent> events) {
  std::vector<BlockCopy> copies;
  for (std::size_t i = 0; i + 1 < events.size(); ++i)
    if (events[i].kind == CacheEventKind::copied_from)
      copies.push_back({events[i].request, events[i].group, events[i].block, events[i + 1].block});
  return copies;
}

// Appends only. A manager without a log records nothing.
using CacheEventLog = std::vector<CacheEvent>;

// The answer to "how much of this request is cached", with the reasons
// (semantics: find-longest-cache-hit). Plain values.

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
