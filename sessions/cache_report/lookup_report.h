// Why the prefix cache served an admitted request as much as it did. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"
#include "core/trace/schedule_trace.h"
#include "sessions/cache_report/block_history.h"
#include "sessions/cache_report/prefix_tree.h"

namespace hybridscope {

// Why tokens that an earlier request has in common were computed again, in the order in which the
// common prefix is cut down to the hit.
enum class MissReason : std::uint8_t {
  caching_off,        // nothing is cached
  last_token,         // the last known token is always computed: its logits are needed
  block_granularity,  // behind the last boundary of the grid on which hits end
  eagle_drop,         // the draft model needs the last block computed again
  not_computed,       // no request had computed and published them when they were looked up
  state_missing,      // attention had them, but no state was kept at such a boundary
  evicted             // they had been there, and blocks were given to others
};
inline constexpr std::size_t kNumMissReasons = 7;

// Slug ("state_missing"), the heading of a column ("state missing").
std::string_view miss_reason_slug(MissReason reason);
std::string_view miss_reason_name(MissReason reason);

using LostTokens = std::array<std::int64_t, kNumMissReasons>;  // by reason

// One admission. hit + sum of lost = common.num_tokens.
struct LookupReport {
  std::int64_t step = 0;
  RequestId request{};
  Admission admission = Admission::new_request;
  std::int32_t run = 0;  // how often it had been preempted
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_tokens = 0;  // known when it was looked up
  // With the sequence (prompt, then output) of a request that was admitted before, which may be its
  // own earlier run.
  CommonPrefix common{};
  std::int32_t num_hit_tokens = 0;
  std::int32_t num_possible_tokens = 0;  // hit if all of the common prefix were in the cache
  LostTokens lost{};

  // Behind the reasons, where they apply.
  std::int32_t num_computed_tokens = 0;  // of the common prefix, on the grid: attention has or had
                                         // them
  std::int32_t last_state = 0;           // the highest boundary in it with a state, kept or evicted
  std::int32_t next_state = -1;  // the next boundary at which the other request kept one, -1: none
  Eviction evicted_state{};      // step 0: none
  Eviction evicted_attention{};  // the first of its blocks that had been there, step 0: none

  std::int64_t num_lost_tokens() const { return common.num_tokens - num_hit_tokens; }
  std::int64_t lost_to(MissReason reason) const { return lost[static_cast<std::size_t>(reason)]; }
  // The one that lost most, the first of equals. Requires: num_lost_tokens() > 0.
  MissReason main_reason() const;
};

// Sums over lookups.
struct CacheTotals {
  std::int64_t lookups = 0;
  std::int64_t resumed = 0;  // of them after a preemption
  std::int64_t tokens = 0;   // known tokens
  std::int64_t common_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t lookups_with_common_tokens = 0;
  std::int64_t lookups_with_hit = 0;
  LostTokens lost{};

  void add(const LookupReport& report);
};

}  // namespace hybridscope
