// Random scheduling of requests with common prefixes, drafts, preemption and resets. After every
// operation block lists, reference counts and hashes rebuilt from the events alone must equal the
// manager's; under the safe policies no request may use a block planned in the same step.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/policy_table.h"
#include "tests/core/caching/cache_test_support.h"
#include "tests/support/property.h"

namespace hybridscope::test::kv_cache_manager_model_test {
namespace {

KVCacheManagerConfig random_config(std::mt19937& random, bool safe) {
  PolicySet policies = safe ? safe_policies() : reference_policies();
  // The mirror has one key a block.
  policies.set(HitsInsideBlocks::never);
  policies.set(PromptTailKey::never);
  KVCacheManagerConfig config =
      config_of({.num_blocks = 12 + static_cast<std::int32_t>(random() % 40),
                 .mamba_cache_mode = static_cast<MambaCacheMode>(random() % 3),
                 .num_speculative_blocks = static_cast<std::int32_t>(random() % 3),
                 .enable_caching = random() % 5 != 0,
                 .use_eagle = random() % 2 == 0,
                 .watermark = random() % 2 == 0 ? 0.0 : 0.1,
                 .policies = policies});
  auto& groups = config.kv_cache_config.groups;
  if (random() % 3 == 0) groups.pop_back();
  if (groups.size() == 2 && random() % 2 == 0) groups.push_back(groups[1]);
  if (groups.size() > 1 && random() % 3 == 0) {
    groups.push_back(full_attention_group(8));
    config.scheduler_block_size = 8;
  }
  return config;
}

class Simulation {
 public:
  Simulation(unsigned seed, bool safe)
      : random_(seed),
        safe_(safe),
        config_(random_config(random_, safe)),
        manager_(KVCacheManager::create(config_, nullptr).value()),
        mirror_(manager_.pool().num_blocks()) {
    manager_.set_event_log(&log_);
  }

  void step() {
    manager_.new_step_starts();
    planned_.clear();
    preempted_ = false;
    std::vector<std::size_t> scheduled;
    run_running(scheduled);
    if (!preempted_) admit(scheduled);
    if (testing::Test::HasFatalFailure()) return;
    manager_.publish();
    ASSERT_EQ(manager_.pool().num_planned_blocks(), 0);
    for (const std::size_t index : scheduled) update(index);
    disturb();
  }

  int num_hits() const { return num_hits_; }

 private:
  struct Entry {
    TestRequest request;
    std::int32_t scheduled = 0;  // tokens of this step
    bool live = false;           // holds blocks
    bool finished = false;
  };

  std::int32_t pick(std::int32_t bound) {
    return static_cast<std::int32_t>(random_() % static_cast<unsigned>(bound));
  }

  void check(const std::string& where) {
    for (const CacheEvent& event : log_) {
      if (event.kind == CacheEventKind::registered) planned_.insert(event.block);
      if (event.kind == CacheEventKind::withdrawn) planned_.erase(event.block);
      ASSERT_FALSE(safe_ && event.kind == CacheEventKind::touched && planned_.contains(event.block))
          << where << ": hit on a planned block";
    }
    mirror_.apply(log_);
    log_.clear();
    ASSERT_EQ(mirror_.first_difference(manager_, static_cast<std::int32_t>(entries_.size())), "")
        << where;
  }

  void run_running(std::vector<std::size_t>& scheduled) {
    for (std::size_t index = 0; index < entries_.size(); ++index) {
      Entry& entry = entries_[index];
      if (!entry.live || pick(8) == 0) continue;
      const TestRequest& request = entry.request;
      std::int32_t drafts = pick(3);
      std::int32_t tokens = request.chain.num_tokens - request.num_computed_tokens;
      if (tokens > 1) drafts = 0, tokens = 1 + pick(tokens);
      tokens = std::min(tokens + drafts, config_.max_model_len - 1 - request.num_computed_tokens);
      if (tokens <= 0) continue;
      const auto allocation = manager_.allocate_slots(
          request.view(), {.num_new_tokens = tokens, .num_lookahead_tokens = drafts});
      ASSERT_TRUE(allocation.ok()) << allocation.error().message;
      ASSERT_NO_FATAL_FAILURE(check("running"));
      if (allocation.value().granted()) {
        entry.scheduled = tokens;
        scheduled.push_back(index);
      } else {
        preempt_one(scheduled);
      }
    }
  }

  void preempt_one(std::vector<std::size_t>& scheduled) {
    std::vector<std::size_t> live;
    for (std::size_t index = 0; index < entries_.size(); ++index)
      if (entries_[index].live) live.push_back(index);
    const std::size_t victim = live[static_cast<std::size_t>(pick(static_cast<int>(live.size())))];
    std::erase(scheduled, victim);
    preempt(victim);
    preempted_ = true;
  }

  void preempt(std::size_t index) {
    Entry& entry = entries_[index];
    if (pick(4) != 0) manager_.withdraw(entry.request.id);
    manager_.free(entry.request.id);
    entry.live = false;
    entry.request.num_computed_tokens = 0;
    entry.request.status = RequestStatus::preempted;
    ASSERT_NO_FATAL_FAILURE(check("preempt"));
  }

  void admit(std::vector<std::size_t>& scheduled) {
    if (pick(2) == 0)
      entries_.push_back({.request = a_request(static_cast<std::int32_t>(entries_.size()), pick(24),
                                               1 + pick(12))});
    for (std::size_t index = 0; index < entries_.size(); ++index) {
      Entry& entry = entries_[index];
      if (entry.live || entry.finished || pick(2) == 0) continue;
      const CacheHit hit = manager_.get_computed_blocks(entry.request.view()).value();
      const std::int32_t rest = entry.request.chain.num_tokens - hit.num_hit_tokens;
      const std::int32_t tokens = 1 + pick(rest);
      const auto allocation = manager_.allocate_slots(
          entry.request.view(), {.num_new_tokens = tokens,
                                 .num_new_computed_tokens = hit.num_hit_tokens,
                                 .new_computed_blocks = &hit,
                                 .full_sequence_must_fit = pick(3) == 0,
                                 .has_scheduled_reqs = !scheduled.empty()});
      ASSERT_TRUE(allocation.ok()) << allocation.error().message;
      ASSERT_NO_FATAL_FAILURE(check("admit"));
      if (!allocation.value().granted()) return;
      num_hits_ += hit.num_hit_tokens > 0 ? 1 : 0;
      entry.live = true;
      entry.scheduled = tokens;
      entry.request.num_computed_tokens = hit.num_hit_tokens;
      entry.request.status = RequestStatus::running;
      scheduled.push_back(index);
    }
  }

  // Sampling: a request whose tokens are all computed gets one token and some accepted drafts.
  void update(std::size_t index) {
    Entry& entry = entries_[index];
    TestRequest& request = entry.request;
    const std::int32_t end = request.num_computed_tokens + entry.scheduled;
    const std::int32_t drafts = end - request.chain.num_tokens;
    request.num_computed_tokens = end;
    if (drafts < 0) return;
    const std::int32_t accepted = pick(drafts + 1);
    request.num_computed_tokens -= drafts - accepted;
    request.append(accepted + 1);
    if (request.chain.num_tokens < config_.max_model_len && pick(12) != 0) return;
    manager_.free(request.id);
    entry.live = false;
    entry.finished = true;
    ASSERT_NO_FATAL_FAILURE(check("finish"));
  }

  void disturb() {
    if (pick(15) == 0) {
      ASSERT_TRUE(manager_
                      .evict_blocks(std::vector<std::int32_t>{pick(manager_.pool().num_blocks()),
                                                              pick(manager_.pool().num_blocks())})
                      .ok());
    }
    if (pick(40) == 0) {
      for (std::size_t index = 0; index < entries_.size(); ++index)
        if (entries_[index].live) preempt(index);
      ASSERT_TRUE(manager_.reset_prefix_cache());
      ASSERT_EQ(manager_.pool().num_cached_hashes(), 0);
    }
    check("disturb");
  }

  std::mt19937 random_;
  bool safe_;
  KVCacheManagerConfig config_;
  KVCacheManager manager_;
  CacheEventLog log_;
  EventMirror mirror_;
  std::vector<Entry> entries_;
  std::set<std::int32_t> planned_;
  bool preempted_ = false;
  int num_hits_ = 0;
};

int run_simulations(bool safe) {
  int num_hits = 0;
  for (std::size_t seed = 0; seed < num_cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(static_cast<unsigned>(seed), safe);
    for (int i = 0; i < 80; ++i) {
      simulation.step();
      if (testing::Test::HasFatalFailure()) return 0;
    }
    num_hits += simulation.num_hits();
  }
  return num_hits;
}

TEST(KVCacheManagerModel, EventsMirrorEveryChangeUnderTheSafePolicies) {
  EXPECT_GT(run_simulations(true), 40);
}

TEST(KVCacheManagerModel, EventsMirrorEveryChangeUnderTheReferencePolicies) {
  EXPECT_GT(run_simulations(false), 40);
}

}  // namespace
}  // namespace hybridscope::test::kv_cache_manager_model_test
