// kv_cache_manager and cache_hits: who holds which block, and what is cached.
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/caching/block_hash.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/cache_calls.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_engine_config.h"

namespace hybridscope {
namespace {

using nlohmann::json;

constexpr std::int32_t kMaxHitTokens = 1 << 20;

// Tokens 0, 1, 2, ...
std::vector<BlockHash> hashes_of_counting_tokens(std::int32_t num_tokens,
                                                 std::int32_t hash_block_size) {
  std::vector<TokenContent> tokens(static_cast<std::size_t>(num_tokens));
  std::iota(tokens.begin(), tokens.end(), TokenContent{0});
  BlockHashChain chain = start_block_hashes(hash_block_size);
  extend_block_hashes(chain, tokens);
  return chain.block_hashes;
}

struct CachedTokens {
  std::int32_t num_tokens = 0;
  std::vector<BlockHash> hashes;
};

// `entry`: [group, block index, block id].
void cache_block(const VectorValue& entry, const EngineConfig& config, const CachedTokens& tokens,
                 BlockPool& pool) {
  const auto& groups = config.kv_cache_config.groups;
  const std::int32_t group =
      entry[std::size_t{0}].int32_in(0, static_cast<std::int32_t>(groups.size()) - 1);
  const GroupParameters parameters{
      .group = group,
      .block_size = groups[static_cast<std::size_t>(group)].block_size(),
      .hash_block_size = config.hash_block_size};
  const std::int32_t column =
      entry[std::size_t{1}].int32_in(0, tokens.num_tokens / parameters.block_size - 1);
  const VectorValue block = entry[std::size_t{2}];
  const std::int32_t block_id = block.int32_in(1, pool.num_blocks() - 1);
  if (pool.key(block_id).block_hash != 0) block.fail("the block is cached already");
  pool.cache_full_block({.block = block_id,
                         .owner = {.request = {}, .group = group},
                         .column = column,
                         .num_tokens = (column + 1) * parameters.block_size,
                         .block_hash = parameters.block_hash(tokens.hashes, column)});
}

}  // namespace

json recompute_kv_cache_manager(const VectorCase& vector, ExecuteCopies) {
  check_pool_size(vector.config, vector.input);
  const EngineConfig config = read_cache_config(vector.config);
  auto manager = KVCacheManager::create(kv_cache_manager_config(config), nullptr);
  if (!manager) return {{"init", error_json(manager.error())}, {"results", json::array()}};
  json answer{{"init", {{"num_free", manager.value().num_free_blocks()}}}};
  CacheCalls calls(std::move(manager).value(), config.hash_block_size);
  answer["results"] =
      answer_until_error(vector.input, [&](const VectorValue& call) { return calls.answer(call); });
  return answer;
}

json recompute_cache_hits(const VectorCase& vector, ExecuteCopies) {
  const EngineConfig config = read_cache_config(vector.config);
  const KVCacheManagerConfig manager = kv_cache_manager_config(config);
  const auto coordinator =
      HybridCoordinator::create({.groups = manager.kv_cache_config.groups,
                                 .enable_caching = true,
                                 .use_eagle = manager.use_eagle,
                                 .scheduler_block_size = manager.scheduler_block_size,
                                 .hash_block_size = manager.hash_block_size,
                                 .policies = manager.policies});
  if (!coordinator) return error_json(coordinator.error());
  // Where the reference refused the settings there is nothing to look up.
  if (vector.input.size() == 0) return json::object();

  CachedTokens tokens{.num_tokens = vector.input["num_tokens"].int32_in(0, kMaxHitTokens),
                      .hashes = {}};
  tokens.hashes = hashes_of_counting_tokens(tokens.num_tokens, config.hash_block_size);
  BlockPool pool({.num_blocks = config.kv_cache_config.num_blocks,
                  .block_registration = BlockRegistration::at_allocation},
                 nullptr);
  for (const VectorValue& entry : vector.input["cached"].elements())
    cache_block(entry, config, tokens, pool);
  const CacheHit hit = coordinator.value().find_longest_cache_hit(
      pool, tokens.hashes, vector.input["max_cache_hit_length"].int32_in(0, kMaxHitTokens));
  return {{"hit_length", hit.num_hit_tokens},
          {"block_ids", hit_blocks_json(hit)},
          {"num_uncached_common_prefix_tokens", uncached_json(hit)}};
}

}  // namespace hybridscope
