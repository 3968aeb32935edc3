// kv_cache_manager and cache_hits: which request holds which block, and what is cached.
#include <fmt/core.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "core/caching/block_hash.h"
#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

namespace {

using nlohmann::json;

constexpr std::int32_t kMaxCallTokens = 1 << 17;

std::vector<TokenContent> read_token_ids(const JsonValue& ids) {
  std::vector<TokenContent> tokens;
  for (const std::int64_t id : ids.int64s()) tokens.push_back(static_cast<TokenContent>(id));
  return tokens;
}

std::int32_t read_call_count(const JsonValue& value) { return value.int32({0, kMaxCallTokens}); }

RequestStatus read_status(const JsonValue& name) {
  // The status of an ended request is one of the FINISHED names.
  if (name.string().starts_with("FINISHED")) return RequestStatus::finished;
  return std::array{RequestStatus::waiting, RequestStatus::running,
                    RequestStatus::preempted}[name.one_of({"WAITING", "RUNNING", "PREEMPTED"})];
}

constexpr std::int32_t kMaxHitTokens = 1 << 20;

// The block hashes of the tokens 0, 1, 2, ...
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
void cache_block(const JsonValue& entry, const EngineConfig& config, const CachedTokens& tokens,
                 BlockPool& pool) {
  const auto& groups = config.kv_cache_config.groups;
  const std::int32_t group =
      entry[std::size_t{0}].int32({0, static_cast<std::int32_t>(groups.size()) - 1});
  const GroupParameters parameters{
      .group = group,
      .block_size = groups[static_cast<std::size_t>(group)].block_size(),
      .hash_block_size = config.hash_block_size};
  const std::int32_t column =
      entry[std::size_t{1}].int32({0, tokens.num_tokens / parameters.block_size - 1});
  const JsonValue block = entry[std::size_t{2}];
  const std::int32_t block_id = block.int32({1, pool.num_blocks() - 1});
  if (pool.key(block_id).block_hash != 0) block.fail("the block is cached already");
  pool.cache_full_block({.block = block_id,
                         .owner = {.request = {}, .group = group},
                         .column = column,
                         .num_tokens = (column + 1) * parameters.block_size,
                         .block_hash = parameters.block_hash(tokens.hashes, column)});
}

// Block ids of a hit per group.
json hit_blocks_json(const CacheHit& hit) {
  json result = json::array();
  for (std::size_t group = 0; group + 1 < hit.group_start.size(); ++group) {
    const auto blocks = hit.blocks(group);
    result.push_back(std::vector<std::int32_t>(blocks.begin(), blocks.end()));
  }
  return result;
}

// The hit's tokens that another group has cached beyond it, or null.
json uncached_json(const CacheHit& hit) {
  return hit.num_uncached_common_prefix_tokens ? json(*hit.num_uncached_common_prefix_tokens)
                                               : json();
}

class CacheCalls {
 public:
  CacheCalls(KVCacheManager manager, std::int32_t hash_block_size)
      : manager_(std::move(manager)), hash_block_size_(hash_block_size) {}

  // The call's result, plus the parts of the pool's state that changed since the last call.
  json answer(const JsonValue& call) {
    json result;
    try {
      result = run(call);
    } catch (const ContractViolation& violation) {  // the reference asserts as well
      return error_json(invalid_input(violation.what()));
    }
    if (result.contains("error")) return result;
    add_changed_pool_state(result);
    if (call.has_non_null("request")) {
      const RequestId id = request_of(call).id;
      result["block_ids"] = json::array();
      for (std::int32_t group = 0; group < manager_.num_groups(); ++group)
        result["block_ids"].push_back(blocks_json(id, group, 0));
    }
    return result;
  }

 private:
  struct Request {
    RequestId id;
    BlockHashChain hashes;
    std::int32_t num_prompt_tokens = 0;
  };

  json run(const JsonValue& call) {
    switch (
        call["op"].one_of({"add_request", "new_step_starts", "get_computed_blocks",
                           "allocate_slots", "append_output_token_ids", "free", "preempt",
                           "reset_prefix_cache", "evict_blocks", "get_num_common_prefix_blocks"})) {
      case 0: return add_request(call);
      case 1: manager_.new_step_starts(); return json::object();
      case 2: return get_computed_blocks(call);
      case 3: return allocate_slots(call);
      case 4: return append_output_token_ids(call);
      case 5:
      case 6: manager_.free(request_of(call).id); return json::object();
      case 7: return {{"result", manager_.reset_prefix_cache()}};
      case 8: return evict_blocks(call);
      default: return {{"result", manager_.get_num_common_prefix_blocks(request_of(call).id)}};
    }
  }

  json add_request(const JsonValue& call) {
    const JsonValue name = call["request"]["id"];
    const std::vector<TokenContent> tokens = read_token_ids(call["prompt_token_ids"]);
    Request request{.id = {static_cast<std::int32_t>(requests_.size())},
                    .hashes = start_block_hashes(hash_block_size_),
                    .num_prompt_tokens = static_cast<std::int32_t>(tokens.size())};
    extend_block_hashes(request.hashes, tokens);
    if (!requests_.emplace(name.string(), std::move(request)).second)
      name.fail("a request of this name was added already");
    return json::object();
  }

  json get_computed_blocks(const JsonValue& call) {
    Result<CacheHit> hit = manager_.get_computed_blocks(view_of(call));
    if (!hit) return error_json(hit.error());
    last_hit_ = std::move(hit).value();
    return {{"num_hit_tokens", last_hit_.num_hit_tokens},
            {"computed_block_ids", hit_blocks_json(last_hit_)},
            {"num_uncached_common_prefix_tokens", uncached_json(last_hit_)}};
  }

  json allocate_slots(const JsonValue& call) {
    const bool use_hit = call["use_last_computed_blocks"].boolean() && !last_hit_.empty();
    const Result<Allocation> allocation = manager_.allocate_slots(
        view_of(call),
        {.num_new_tokens = read_call_count(call["num_new_tokens"]),
         .num_new_computed_tokens = read_call_count(call["num_new_computed_tokens"]),
         .new_computed_blocks = use_hit ? &last_hit_ : nullptr,
         .num_lookahead_tokens = read_call_count(call["num_lookahead_tokens"]),
         .full_sequence_must_fit = call["full_sequence_must_fit"].boolean(),
         .reserved_blocks = call["reserved_blocks"].int32({-kMaxCallTokens, kMaxCallTokens}),
         .has_scheduled_reqs = call["has_scheduled_reqs"].boolean()});
    if (!allocation) return error_json(allocation.error());
    if (!allocation.value().granted()) return {{"new_block_ids", nullptr}};
    json new_block_ids = json::array();
    for (std::int32_t group = 0; group < manager_.num_groups(); ++group)
      new_block_ids.push_back(
          blocks_json(request_of(call).id, group,
                      allocation.value().first_new_column[static_cast<std::size_t>(group)]));
    return {{"new_block_ids", new_block_ids}};
  }

  json append_output_token_ids(const JsonValue& call) {
    extend_block_hashes(request_of(call).hashes, read_token_ids(call["token_ids"]));
    return json::object();
  }

  json evict_blocks(const JsonValue& call) {
    const Status status = manager_.evict_blocks(call["block_ids"].int32s());
    return status ? json::object() : error_json(status.error());
  }

  Request& request_of(const JsonValue& call) {
    const JsonValue id = call["request"]["id"];
    const auto found = requests_.find(id.string());
    if (found == requests_.end()) id.fail("no such request was added");
    return found->second;
  }
  RequestCacheView view_of(const JsonValue& call) {
    const JsonValue fields = call["request"];
    const Request& request = request_of(call);
    const JsonValue num_tokens = fields["num_tokens"];
    if (num_tokens.int32() != request.hashes.num_tokens)
      num_tokens.fail(fmt::format("expected {}, as many as were given", request.hashes.num_tokens));
    const JsonValue num_prompt_tokens = fields["num_prompt_tokens"];
    if (num_prompt_tokens.int32() != request.num_prompt_tokens)
      num_prompt_tokens.fail(fmt::format("expected {}, the prompt's", request.num_prompt_tokens));
    return {.id = request.id,
            .block_hashes = request.hashes.block_hashes,
            .num_tokens = request.hashes.num_tokens,
            .num_computed_tokens = read_call_count(fields["num_computed_tokens"]),
            .status = read_status(fields["status"])};
  }

  json blocks_json(RequestId request, std::int32_t group, std::int32_t first_column) const {
    const auto blocks =
        manager_.block_ids(request, group).subspan(static_cast<std::size_t>(first_column));
    return std::vector<std::int32_t>(blocks.begin(), blocks.end());
  }

  void add_changed_pool_state(json& result) {
    const BlockPool& pool = manager_.pool();
    json hashed = json::array();
    json ref_cnt = json::array();
    for (std::int32_t block = 1; block < pool.num_blocks(); ++block) {
      if (pool.key(block).block_hash != 0) hashed.push_back(block);
      if (pool.ref_cnt(block) != 0) ref_cnt.push_back({block, pool.ref_cnt(block)});
    }
    json state = {{"num_free", pool.num_free_blocks()},
                  {"free_queue", pool.free_queue()},
                  {"hashed", std::move(hashed)},
                  {"ref_cnt", std::move(ref_cnt)},
                  {"num_cached_hashes", pool.num_cached_hashes()}};
    for (const auto& [key, value] : state.items())
      if (!pool_state_.contains(key) || pool_state_[key] != value) result[key] = value;
    pool_state_ = std::move(state);
  }

  KVCacheManager manager_;
  std::int32_t hash_block_size_;
  std::map<std::string, Request> requests_;
  CacheHit last_hit_;  // of the last get_computed_blocks
  json pool_state_ = json::object();
};

}  // namespace

json recompute_kv_cache_manager(const VectorCase& vector, const VectorKernels&) {
  check_pool_size(vector.config, vector.input);
  const EngineConfig config = read_cache_config(vector.config);
  auto manager = KVCacheManager::create(kv_cache_manager_config(config), nullptr);
  if (!manager) return {{"init", error_json(manager.error())}, {"results", json::array()}};
  json answer{{"init", {{"num_free", manager.value().num_free_blocks()}}}};
  CacheCalls calls(std::move(manager).value(), config.hash_block_size);
  answer["results"] =
      answer_until_error(vector.input, [&](const JsonValue& call) { return calls.answer(call); });
  return answer;
}

json recompute_cache_hits(const VectorCase& vector, const VectorKernels&) {
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
  // The reference refused the settings, so there are no lookups.
  if (vector.input.size() == 0) return json::object();

  CachedTokens tokens{.num_tokens = vector.input["num_tokens"].int32({0, kMaxHitTokens}),
                      .hashes = {}};
  tokens.hashes = hashes_of_counting_tokens(tokens.num_tokens, config.hash_block_size);
  BlockPool pool({.num_blocks = config.kv_cache_config.num_blocks,
                  .policies = PolicySet{BlockRegistration::at_allocation}},
                 nullptr);
  for (const JsonValue& entry : vector.input["cached"].elements())
    cache_block(entry, config, tokens, pool);
  const CacheHit hit = coordinator.value().find_longest_cache_hit(
      pool, tokens.hashes, vector.input["max_cache_hit_length"].int32({0, kMaxHitTokens}));
  return {{"hit_length", hit.num_hit_tokens},
          {"block_ids", hit_blocks_json(hit)},
          {"num_uncached_common_prefix_tokens", uncached_json(hit)}};
}

}  // namespace hybridscope
