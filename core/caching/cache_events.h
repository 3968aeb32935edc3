// What one step did to blocks and block tables, in order. The engine hands the list to the step's
// trace; checks, panels and sessions rebuild block tables and reference counts from it.
#pragma once

#include <cstdint>
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

}  // namespace hybridscope
