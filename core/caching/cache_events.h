// What one step did to blocks and block tables, in order. The engine hands the list to the step's
// trace; checks, panels and sessions rebuild block tables and reference counts from it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"

namespace hybridscope {

enum class CacheEventKind : std::uint8_t {
  allocated,   // popped from the free queue: block, ref_cnt 1
  touched,     // a cached block gained a reference: block, ref_cnt after
  freed,       // lost a reference: block, ref_cnt after (0: back in the free queue)
  evicted,     // lost its hash: block
  registered,  // block of `request` planned under `block_hash` as the state or the keys and values
               // after `num_tokens` tokens; its content is due at the end of this step
  withdrawn,   // a planned registration taken back before its content existed: block
  column_set,  // block_table[request][group][column] = block (null block: emptied)
  table_dropped,  // block_table[request][group] has no columns any more
  free_deferred,  // left a table but keeps the reference, as a KV connector may write to it until
                  // the frames in flight have returned: block
  free_due        // those frames have returned; `freed` follows: block
};

struct CacheEvent {
  CacheEventKind kind = CacheEventKind::allocated;
  std::int32_t group = -1;      // KV-cache group, -1 where it has no meaning
  RequestId request;            // invalid where it has no meaning
  std::int32_t column = -1;     // index into the request's block list of the group
  std::int32_t block = 0;       // block id
  std::int32_t ref_cnt = 0;     // after the event
  std::int32_t num_tokens = 0;  // registered: tokens of the prefix the block stands for
  Fingerprint block_hash = 0;   // registered: fingerprint of that prefix
  friend bool operator==(const CacheEvent&, const CacheEvent&) = default;
};

// Appends only. A manager without a log records nothing.
using CacheEventLog = std::vector<CacheEvent>;

}  // namespace hybridscope
