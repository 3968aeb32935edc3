// golden/kv_cache_manager.jsonl: sequences of calls; after each the result and the pool are
// compared.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/caching/kv_cache_manager.h"
#include "tests/core/caching/event_mirror.h"
#include "tests/core/caching/golden_config.h"
#include "tests/support/golden.h"

namespace hybridscope::test {
namespace {

RequestStatus status_from_golden(const std::string& name) {
  if (name == "WAITING") return RequestStatus::waiting;
  if (name == "PREEMPTED") return RequestStatus::preempted;
  return name == "RUNNING" ? RequestStatus::running : RequestStatus::finished;
}

std::vector<TokenContent> tokens_from_golden(const Json& ids) {
  std::vector<TokenContent> tokens;
  for (const Json& id : ids) tokens.push_back(id.get<TokenContent>());
  return tokens;
}

// Runs one case's calls and renders the results as the file has them.
class Replay {
 public:
  Replay(KVCacheManager manager, std::int32_t hash_block_size)
      : manager_(std::move(manager)),
        mirror_(manager_.pool().num_blocks()),
        hash_block_size_(hash_block_size) {
    manager_.set_event_log(&log_);
  }

  Json run(const Json& call) {
    Json result = operation(call);
    if (result.contains("error")) return result;
    add_changed_pool_state(result);
    if (call.contains("request")) {
      result["block_ids"] = Json::array();
      for (std::int32_t group = 0; group < manager_.num_groups(); ++group)
        result["block_ids"].push_back(blocks(id_of(call), group, 0));
    }
    mirror_.apply(log_);
    log_.clear();
    const std::string difference =
        mirror_.first_difference(manager_, static_cast<std::int32_t>(requests_.size()));
    if (!difference.empty()) result["event mirror"] = difference;
    return result;
  }

 private:
  struct Request {
    RequestId id;
    BlockHashChain hashes;
  };

  RequestId id_of(const Json& call) { return request_of(call).id; }
  Request& request_of(const Json& call) { return requests_.at(call.at("request").at("id")); }

  RequestCacheView view_of(const Json& call) {
    const Json& fields = call.at("request");
    const Request& request = request_of(call);
    return {.id = request.id,
            .block_hashes = request.hashes.block_hashes,
            .num_tokens = fields.at("num_tokens"),
            .num_computed_tokens = fields.at("num_computed_tokens"),
            .status = status_from_golden(fields.at("status"))};
  }

  std::vector<std::int32_t> blocks(RequestId request, std::int32_t group, std::int32_t from) const {
    const auto ids = manager_.block_ids(request, group).subspan(static_cast<std::size_t>(from));
    return {ids.begin(), ids.end()};
  }

  Json operation(const Json& call) {
    const std::string op = call.at("op");
    if (op == "add_request") return add_request(call);
    if (op == "new_step_starts") return manager_.new_step_starts(), Json::object();
    if (op == "get_computed_blocks") return get_computed_blocks(call);
    if (op == "allocate_slots") return allocate_slots(call);
    if (op == "append_output_token_ids") {
      extend_block_hashes(request_of(call).hashes, tokens_from_golden(call.at("token_ids")));
      return Json::object();
    }
    if (op == "free" || op == "preempt") return manager_.free(id_of(call)), Json::object();
    if (op == "reset_prefix_cache") return {{"result", manager_.reset_prefix_cache()}};
    if (op == "evict_blocks") {
      const Status status =
          manager_.evict_blocks(call.at("block_ids").get<std::vector<std::int32_t>>());
      return status.ok() ? Json::object() : Json{{"error", status.error().message}};
    }
    if (op == "get_num_common_prefix_blocks")
      return {{"result", manager_.get_num_common_prefix_blocks(id_of(call))}};
    return {{"error", "unknown op " + op}};
  }

  Json add_request(const Json& call) {
    Request request{.id = {static_cast<std::int32_t>(requests_.size())},
                    .hashes = start_block_hashes(hash_block_size_)};
    extend_block_hashes(request.hashes, tokens_from_golden(call.at("prompt_token_ids")));
    requests_.emplace(call.at("request").at("id"), request);
    return Json::object();
  }

  Json get_computed_blocks(const Json& call) {
    Result<CacheHit> hit = manager_.get_computed_blocks(view_of(call));
    if (!hit) return {{"error", hit.error().message}};
    last_hit_ = std::move(hit).value();
    Json result = {{"num_hit_tokens", last_hit_.num_hit_tokens},
                   {"computed_block_ids", Json::array()},
                   {"num_uncached_common_prefix_tokens", nullptr}};
    for (std::size_t group = 0; group + 1 < last_hit_.group_start.size(); ++group) {
      const auto ids = last_hit_.blocks(group);
      result["computed_block_ids"].push_back(std::vector<std::int32_t>(ids.begin(), ids.end()));
    }
    if (last_hit_.num_uncached_common_prefix_tokens)
      result["num_uncached_common_prefix_tokens"] = *last_hit_.num_uncached_common_prefix_tokens;
    return result;
  }

  Json allocate_slots(const Json& call) {
    const bool use_hit = call.at("use_last_computed_blocks");
    const Result<Allocation> allocation = manager_.allocate_slots(
        view_of(call), {.num_new_tokens = call.at("num_new_tokens"),
                        .num_new_computed_tokens = call.at("num_new_computed_tokens"),
                        .new_computed_blocks = use_hit ? &last_hit_ : nullptr,
                        .num_lookahead_tokens = call.at("num_lookahead_tokens"),
                        .full_sequence_must_fit = call.at("full_sequence_must_fit"),
                        .reserved_blocks = call.at("reserved_blocks"),
                        .has_scheduled_reqs = call.at("has_scheduled_reqs")});
    if (!allocation) return {{"error", allocation.error().message}};
    Json result = {{"new_block_ids", nullptr}};
    if (!allocation.value().granted()) return result;
    result["new_block_ids"] = Json::array();
    for (std::int32_t group = 0; group < manager_.num_groups(); ++group)
      result["new_block_ids"].push_back(
          blocks(id_of(call), group,
                 allocation.value().first_new_column[static_cast<std::size_t>(group)]));
    return result;
  }

  void add_changed_pool_state(Json& result) {
    const BlockPool& pool = manager_.pool();
    Json hashed = Json::array();
    Json ref_cnt = Json::array();
    for (std::int32_t block = 1; block < pool.num_blocks(); ++block) {
      if (pool.key(block).block_hash != 0) hashed.push_back(block);
      if (pool.ref_cnt(block) != 0) ref_cnt.push_back({block, pool.ref_cnt(block)});
    }
    const Json state = {{"num_free", pool.num_free_blocks()},
                        {"free_queue", pool.free_queue()},
                        {"hashed", hashed},
                        {"ref_cnt", ref_cnt},
                        {"num_cached_hashes", pool.num_cached_hashes()}};
    for (const auto& [key, value] : state.items())
      if (!pool_state_.contains(key) || pool_state_[key] != value) result[key] = value;
    pool_state_ = state;
  }

  KVCacheManager manager_;
  CacheEventLog log_;
  EventMirror mirror_;
  std::int32_t hash_block_size_;
  std::map<std::string, Request> requests_;
  CacheHit last_hit_;
  Json pool_state_ = Json::object();
};

// Empty when the case equals the reference.
std::string first_difference_of(const Json& test_case) {
  const KVCacheManagerConfig config = config_from_golden(test_case.at("config"));
  const Json& expected = test_case.at("output");
  Result<KVCacheManager> manager = KVCacheManager::create(config, nullptr);
  const bool init_error = expected.at("init").contains("error");
  if (!manager || init_error)
    return !manager.ok() && init_error ? "" : "init: error expected or found, not both";
  const Json init = {{"num_free", manager.value().num_free_blocks()}};
  if (auto text = first_difference(expected.at("init"), init); !text.empty()) return "init" + text;

  Replay replay(std::move(manager).value(), config.hash_block_size);
  const Json& results = expected.at("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json result = replay.run(test_case.at("calls")[i]);
    const bool errors = results[i].contains("error") && result.contains("error");
    const std::string text = errors ? "" : first_difference(results[i], result);
    if (!text.empty())
      return "call " + std::to_string(i) + " " + test_case.at("calls")[i].dump() + text;
    if (errors) break;
  }
  return {};
}

TEST(KVCacheManagerGolden, EveryCallEqualsTheReferenceAndItsEventsMirrorTheTables) {
  HS_NEED_GOLDEN();
  int failures = 0;
  int passed = 0;
  const int cases = for_each_case("kv_cache_manager.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = first_difference_of(test_case);
    passed += difference.empty() ? 1 : 0;
    failures += difference.empty() ? 0 : 1;
    EXPECT_EQ(difference, "") << test_case.at("id");
  });
  EXPECT_GT(cases, 0);
  EXPECT_EQ(passed, cases);
}

}  // namespace
}  // namespace hybridscope::test
