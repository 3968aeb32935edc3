#include "tests/core/caching/cache_test_support.h"

#include <algorithm>
#include <utility>

#include "core/base/result.h"

namespace hybridscope::test {

KVCacheGroup full_attention_group(std::int32_t block_size) {
  return {.spec = FullAttentionSpec{.block_size = block_size}, .layers = {}};
}

KVCacheGroup mamba_group(std::int32_t block_size, std::int32_t num_speculative_blocks) {
  MambaSpec spec;
  spec.block_size = block_size;
  spec.mamba_cache_mode = MambaCacheMode::align;
  spec.num_speculative_blocks = num_speculative_blocks;
  return {.spec = spec, .layers = {}};
}

KVCacheManagerConfig config_of(const SmallCache& cache) {
  KVCacheGroup mamba = mamba_group(cache.block_size, cache.num_speculative_blocks);
  std::get<MambaSpec>(mamba.spec).mamba_cache_mode = cache.mamba_cache_mode;
  return {.kv_cache_config = {.num_blocks = cache.num_blocks,
                              .groups = {full_attention_group(cache.block_size), mamba}},
          .max_model_len = cache.max_model_len,
          .enable_caching = cache.enable_caching,
          .use_eagle = cache.use_eagle,
          .scheduler_block_size = cache.block_size,
          .hash_block_size = cache.block_size,
          .watermark = cache.watermark,
          .policies = cache.policies};
}

KVCacheManager manager_of(const SmallCache& cache, CacheEventLog* log) {
  return KVCacheManager::create(config_of(cache), log).value();
}

RequestCacheView TestRequest::view() const {
  return {.id = id,
          .block_hashes = chain.block_hashes,
          .num_tokens = chain.num_tokens,
          .num_computed_tokens = num_computed_tokens,
          .status = status,
          .prompt = {.num_prompt_tokens = num_prompt_tokens,
                     .num_computed_tokens = num_computed_tokens}};
}

void TestRequest::append(std::int32_t num_tokens) {
  for (std::int32_t i = 0; i < num_tokens; ++i) {
    const TokenContent token =
        mix(static_cast<std::uint64_t>(id.value) + 1, static_cast<std::uint64_t>(chain.num_tokens));
    extend_block_hashes(chain, std::span(&token, 1));
  }
}

TestRequest a_request(std::int32_t id, std::int32_t shared, std::int32_t own,
                      std::int32_t hash_block_size) {
  TestRequest request{.id = {id}, .chain = start_block_hashes(hash_block_size)};
  for (std::int32_t i = 0; i < shared; ++i) {
    const auto token = static_cast<TokenContent>(i);
    extend_block_hashes(request.chain, std::span(&token, 1));
  }
  request.append(own);
  request.num_prompt_tokens = shared + own;
  return request;
}

void schedule(KVCacheManager& manager, TestRequest& request, std::int32_t num_new_tokens,
              std::int32_t num_lookahead_tokens) {
  const Result<Allocation> allocation = manager.allocate_slots(
      request.view(),
      {.num_new_tokens = num_new_tokens, .num_lookahead_tokens = num_lookahead_tokens});
  HS_EXPECT(allocation.ok() && allocation.value().granted());
  request.num_computed_tokens += num_new_tokens;
  request.status = RequestStatus::running;
}

Allocation try_admit(KVCacheManager& manager, const TestRequest& request,
                     std::int32_t num_new_tokens) {
  const CacheHit hit = manager.get_computed_blocks(request.view()).value();
  return manager
      .allocate_slots(request.view(), {.num_new_tokens = num_new_tokens,
                                       .num_new_computed_tokens = hit.num_hit_tokens,
                                       .new_computed_blocks = &hit})
      .value();
}

std::vector<std::int32_t> to_vector(std::span<const std::int32_t> values) {
  return {values.begin(), values.end()};
}

namespace {

std::string text(const std::vector<std::int32_t>& values) {
  std::string result = "[";
  for (const std::int32_t value : values) result += std::to_string(value) + " ";
  return result + "]";
}

}  // namespace

void EventMirror::expect(bool condition, const CacheEvent& event, const std::string& what) {
  if (condition || !first_error_.empty()) return;
  first_error_ = "event kind " + std::to_string(static_cast<int>(event.kind)) + " of block " +
                 std::to_string(event.block) + ": " + what;
}

void EventMirror::apply(const CacheEventLog& log) {
  for (const CacheEvent& event : log) apply(event);
}

void EventMirror::apply(const CacheEvent& event) {
  std::int32_t& ref_cnt = ref_cnt_.at(static_cast<std::size_t>(event.block));
  switch (event.kind) {
    case CacheEventKind::allocated:
    case CacheEventKind::touched:
      if (ref_cnt == 0) --num_free_blocks_;
      ++ref_cnt;
      expect(ref_cnt == event.ref_cnt, event, "reference count");
      expect(event.kind == CacheEventKind::touched || !keys_.contains(event.block), event,
             "allocated with a hash");
      break;
    case CacheEventKind::freed:
      --ref_cnt;
      if (ref_cnt == 0) ++num_free_blocks_;
      expect(ref_cnt == event.ref_cnt && ref_cnt >= 0, event, "reference count");
      break;
    case CacheEventKind::evicted:
    case CacheEventKind::withdrawn:
      expect(keys_.erase(event.block) == 1, event, "had no hash");
      break;
    case CacheEventKind::registered:
      expect(event.ref_cnt == ref_cnt && event.num_tokens > 0, event, "registration");
      keys_[event.block] = {.block_hash = event.block_hash, .group = event.group};
      break;
    case CacheEventKind::column_set: {
      auto& table = tables_[{event.request.value, event.group}];
      const auto column = static_cast<std::size_t>(event.column);
      expect(column <= table.size(), event, "column behind the end");
      if (column >= table.size()) table.resize(column + 1);
      table[column] = event.block;
      break;
    }
    case CacheEventKind::table_dropped: tables_.erase({event.request.value, event.group}); break;
    case CacheEventKind::free_deferred:
    case CacheEventKind::free_due:
      expect(ref_cnt > 0, event, "no reference that a free could take");
      break;
    case CacheEventKind::copied_from:
    case CacheEventKind::copied_to: expect(ref_cnt > 0, event, "copied without a reference"); break;
  }
}

std::string EventMirror::first_table_difference(const KVCacheManager& manager,
                                                std::int32_t num_requests) const {
  for (std::int32_t request = 0; request < num_requests; ++request) {
    for (std::int32_t group = 0; group < manager.num_groups(); ++group) {
      const auto found = manager.block_ids({request}, group);
      const std::vector<std::int32_t> blocks(found.begin(), found.end());
      const auto mirrored = tables_.find({request, group});
      const auto expected =
          mirrored == tables_.end() ? std::vector<std::int32_t>{} : mirrored->second;
      if (blocks != expected)
        return "request " + std::to_string(request) + " group " + std::to_string(group) +
               ": manager " + text(blocks) + ", events " + text(expected);
    }
  }
  return {};
}

std::string EventMirror::first_difference(const KVCacheManager& manager,
                                          std::int32_t num_requests) const {
  if (!first_error_.empty()) return first_error_;
  if (auto difference = first_table_difference(manager, num_requests); !difference.empty())
    return difference;
  std::vector<std::int32_t> holders(ref_cnt_.size());
  for (const auto& [key, table] : tables_)
    for (const std::int32_t block : table) ++holders[static_cast<std::size_t>(block)];
  const BlockPool& pool = manager.pool();
  std::int32_t held = 0;
  for (std::int32_t block = 1; block < pool.num_blocks(); ++block) {
    const auto index = static_cast<std::size_t>(block);
    const std::string name = "block " + std::to_string(block) + ": ";
    if (pool.ref_cnt(block) != ref_cnt_[index] || holders[index] != ref_cnt_[index])
      return name + "manager counts " + std::to_string(pool.ref_cnt(block)) + ", events " +
             std::to_string(ref_cnt_[index]) + ", lists " + std::to_string(holders[index]);
    const auto key = keys_.find(block);
    if (pool.key(block) != (key == keys_.end() ? BlockKey{} : key->second))
      return name + "hash differs";
    if (pool.planned_by(block) != RequestId{} && ref_cnt_[index] == 0)
      return name + "planned but free";
    held += ref_cnt_[index] > 0 ? 1 : 0;
  }
  if (manager.num_free_blocks() != num_free_blocks_ ||
      num_free_blocks_ + held != pool.num_blocks() - 1)
    return "free: manager " + std::to_string(manager.num_free_blocks()) + ", events " +
           std::to_string(num_free_blocks_) + ", held " + std::to_string(held);
  return {};
}

}  // namespace hybridscope::test
