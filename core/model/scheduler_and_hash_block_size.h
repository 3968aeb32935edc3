// The two block sizes the scheduler uses besides the groups' own: the granularity at which all
// groups share a prefix, and the granularity at which tokens are hashed (vLLM
// v1/core/kv_cache_utils.py; the rule was derived from the reference's recorded outputs).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace hybridscope {

enum class GroupType : std::uint8_t { full, mamba };

struct GroupBlockSize {
  GroupType type = GroupType::full;
  std::int64_t block_size = 0;
};

struct BlockSizeSettings {
  std::int64_t block_size = 0;  // cache_config.block_size
  bool enable_prefix_caching = false;
  std::optional<std::int64_t> hash_block_size = {};  // the user's request
  std::int64_t decode_context_parallel_size = 1;
  bool kv_connector = false;  // a KV transfer config exists
  std::span<const GroupBlockSize> groups = {};
};

struct SchedulerBlockSizes {
  std::int64_t scheduler_block_size = 0;
  std::int64_t hash_block_size = 0;
  friend bool operator==(const SchedulerBlockSizes&, const SchedulerBlockSizes&) = default;
};

// At most one group: both are block_size * decode_context_parallel_size; a requested size is
// ignored. Several groups: scheduler = lcm of the group block sizes; hash = the request or else
// their gcd, but = scheduler when hashes are not needed (no caching, no connector) or when some
// mamba group's block size is not cache_config.block_size. Error: several groups with context
// parallelism, or a request that does not divide each group's block size; a size below 1; an lcm
// beyond 63 bits.
Result<SchedulerBlockSizes> resolve_block_sizes(const BlockSizeSettings& settings);

}  // namespace hybridscope
