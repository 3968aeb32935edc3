#include "core/model/scheduler_and_hash_block_size.h"

#include <limits>
#include <numeric>
#include <string>

namespace hybridscope {
namespace {

Status check_sizes(const BlockSizeSettings& settings) {
  if (settings.block_size < 1)
    return invalid_input("block_size is " + std::to_string(settings.block_size) +
                         ", expected at least 1");
  if (settings.decode_context_parallel_size < 1)
    return invalid_input("decode_context_parallel_size is " +
                         std::to_string(settings.decode_context_parallel_size) +
                         ", expected at least 1");
  for (const GroupBlockSize& group : settings.groups)
    if (group.block_size < 1)
      return invalid_input("a group's block size is " + std::to_string(group.block_size) +
                           ", expected at least 1");
  return Ok{};
}

Result<std::int64_t> lcm_of_groups(std::span<const GroupBlockSize> groups) {
  std::int64_t result = 1;
  for (const GroupBlockSize& group : groups) {
    const std::int64_t factor = group.block_size / std::gcd(result, group.block_size);
    if (factor > std::numeric_limits<std::int64_t>::max() / result)
      return invalid_input(
          "the least common multiple of the groups' block sizes does not fit in 63 bits");
    result *= factor;
  }
  return result;
}

// Do tokens have to be hashed on a grid finer than the scheduler's?
bool hashes_on_group_grid(const BlockSizeSettings& settings) {
  if (!settings.enable_prefix_caching && !settings.kv_connector) return false;
  for (const GroupBlockSize& group : settings.groups)
    if (group.type == GroupType::mamba && group.block_size != settings.block_size) return false;
  return true;
}

}  // namespace

Result<SchedulerBlockSizes> resolve_block_sizes(const BlockSizeSettings& settings) {
  if (const Status status = check_sizes(settings); !status) return status.error();
  if (settings.groups.size() <= 1) {
    if (settings.block_size >
        std::numeric_limits<std::int64_t>::max() / settings.decode_context_parallel_size)
      return invalid_input("block_size * decode_context_parallel_size does not fit in 63 bits");
    const std::int64_t size = settings.block_size * settings.decode_context_parallel_size;
    return SchedulerBlockSizes{size, size};
  }
  if (settings.decode_context_parallel_size != 1)
    return invalid_input("decode_context_parallel_size is " +
                         std::to_string(settings.decode_context_parallel_size) + " with " +
                         std::to_string(settings.groups.size()) +
                         " groups; only models with one group can use it");
  const auto scheduler = lcm_of_groups(settings.groups);
  if (!scheduler) return scheduler.error();
  if (!hashes_on_group_grid(settings))
    return SchedulerBlockSizes{scheduler.value(), scheduler.value()};

  std::int64_t gcd = 0;
  for (const GroupBlockSize& group : settings.groups) gcd = std::gcd(gcd, group.block_size);
  const std::int64_t hash = settings.hash_block_size.value_or(gcd);
  if (hash < 1 || gcd % hash != 0)
    return invalid_input("prefix_match_unit is " + std::to_string(hash) +
                         ", which does not divide every group's block size (their greatest common "
                         "divisor is " +
                         std::to_string(gcd) + ")");
  return SchedulerBlockSizes{scheduler.value(), hash};
}

}  // namespace hybridscope
