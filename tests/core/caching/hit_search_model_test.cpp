// The search for the longest hit against two models that know nothing but which blocks are cached:
// under the safe policies the longest prefix that every group can serve, found by trying all of
// them; under the reference's its own rounds, step by step
// (semantics: find-longest-cache-hit).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/policy_table.h"
#include "tests/core/caching/cache_test_support.h"
#include "tests/support/property.h"

namespace hybridscope::test::hit_search_model_test {
namespace {

struct ModelGroup {
  bool is_mamba = false;
  std::int32_t block_size = 0;
  bool is_eagle = false;                          // flagged by the user
  std::map<std::int32_t, std::int32_t> blocks{};  // cached: column -> block inserted first

  bool same_spec(const ModelGroup& other) const {
    return is_mamba == other.is_mamba && block_size == other.block_size;
  }
};

struct ModelCache {
  std::vector<ModelGroup> groups{};
  bool use_eagle = false;
  std::int32_t hash_block_size = 4;
  std::int32_t scheduler_block_size = 0;  // least common multiple of the block sizes
  std::int32_t max_length = 0;
};

struct ModelHit {
  std::int32_t num_tokens = 0;
  std::int32_t longest = 0;                         // that any group offered on the way
  std::vector<std::vector<std::int32_t>> blocks{};  // [group]
};

// Flagged groups; all when the method is eagle and none is flagged; one flag counts for its spec.
bool is_eagle(const ModelCache& cache, const ModelGroup& group) {
  const auto flagged = [](const ModelGroup& other) { return other.is_eagle; };
  if (std::none_of(cache.groups.begin(), cache.groups.end(), flagged)) return cache.use_eagle;
  return std::any_of(cache.groups.begin(), cache.groups.end(), [&](const ModelGroup& other) {
    return other.is_eagle && other.same_spec(group);
  });
}

bool holds_first(const ModelGroup& group, std::int32_t num_blocks) {
  for (std::int32_t column = 0; column < num_blocks; ++column)
    if (!group.blocks.contains(column)) return false;
  return true;
}

// The first `num_blocks` entries of the group's list: every block, or null blocks and the state.
std::vector<std::int32_t> block_list(const ModelGroup& group, std::int32_t num_blocks) {
  std::vector<std::int32_t> list;
  for (std::int32_t column = 0; column < num_blocks; ++column)
    list.push_back(group.is_mamba && column + 1 < num_blocks ? 0 : group.blocks.at(column));
  return list;
}

// Can the group serve a hit of `length` tokens? An eagle group needs one block more, which is
// computed again for the draft model.
bool serves(const ModelCache& cache, const ModelGroup& group, std::int32_t length) {
  const std::int32_t num_blocks = length / group.block_size;
  if (length == 0) return true;
  if (group.is_mamba) return group.blocks.contains(num_blocks - 1);
  if (!is_eagle(cache, group)) return holds_first(group, num_blocks);
  return holds_first(group, num_blocks + 1) && length + group.block_size <= cache.max_length;
}

template <class Condition>
std::int32_t longest_length(const ModelCache& cache, Condition condition) {
  std::int32_t longest = 0;
  for (std::int32_t length = 0; length <= cache.max_length; length += cache.scheduler_block_size)
    if (condition(length)) longest = length;
  return longest;
}

// Full attention is asked first; what its first spec offers alone is the longest on the way.
ModelHit brute_force(const ModelCache& cache) {
  const auto all = [&](auto matters) {
    return [&cache, matters](std::int32_t length) {
      return std::all_of(cache.groups.begin(), cache.groups.end(), [&](const ModelGroup& group) {
        return !matters(group) || serves(cache, group, length);
      });
    };
  };
  const auto full = std::find_if(cache.groups.begin(), cache.groups.end(),
                                 [](const ModelGroup& group) { return !group.is_mamba; });
  const ModelGroup& first = full == cache.groups.end() ? cache.groups.front() : *full;
  ModelHit hit;
  hit.num_tokens = longest_length(cache, all([](const ModelGroup&) { return true; }));
  hit.longest =
      longest_length(cache, all([&](const ModelGroup& group) { return group.same_spec(first); }));
  for (const ModelGroup& group : cache.groups)
    hit.blocks.push_back(block_list(group, hit.num_tokens / group.block_size));
  return hit;
}

// Groups with one spec, full attention first (semantics: kv-cache-coordinator).
std::vector<std::vector<const ModelGroup*>> spec_groups(const ModelCache& cache) {
  std::vector<std::vector<const ModelGroup*>> specs;
  for (const bool mamba : {false, true})
    for (const ModelGroup& group : cache.groups) {
      if (group.is_mamba != mamba) continue;
      const auto same = std::find_if(specs.begin(), specs.end(), [&](const auto& spec) {
        return spec.front()->same_spec(group);
      });
      if (same == specs.end())
        specs.push_back({&group});
      else
        same->push_back(&group);
    }
  return specs;
}

// Number of blocks that one spec group finds (semantics: full-attention-cache-hit,
// mamba-cache-hit).
std::int32_t find_hit(const ModelCache& cache, const std::vector<const ModelGroup*>& spec,
                      std::int32_t limit, bool drop) {
  const std::int32_t block_size = spec.front()->block_size;
  const auto in_all = [&](std::int32_t column) {
    return std::all_of(spec.begin(), spec.end(),
                       [&](const ModelGroup* group) { return group->blocks.contains(column); });
  };
  const auto aligned = [&](std::int32_t num_blocks) {
    return num_blocks * block_size % cache.scheduler_block_size == 0;
  };
  if (spec.front()->is_mamba) {
    std::int32_t count = limit / block_size;
    while (count > 0 && !(aligned(count) && in_all(count - 1))) --count;
    return count;
  }
  std::int32_t count = 0;
  while (count < limit / block_size && in_all(count)) ++count;
  if (drop && count > 0) --count;
  while (!aligned(count)) --count;
  return count;
}

// find_longest_cache_hit as the reference has it (semantics: find-longest-cache-hit).
ModelHit reference_rounds(const ModelCache& cache) {
  const auto specs = spec_groups(cache);
  std::vector<std::int32_t> counts(specs.size());
  std::vector<bool> asked(specs.size());
  std::vector<bool> verified(specs.size());
  ModelHit hit{.num_tokens = cache.max_length};
  bool more = true;
  while (more) {
    std::int32_t current = hit.num_tokens;
    for (std::size_t s = 0; s < specs.size(); ++s) {
      const std::int32_t block_size = specs[s].front()->block_size;
      if (!specs[s].front()->is_mamba && asked[s]) {
        current = current / block_size * block_size;
        continue;
      }
      const bool drop = is_eagle(cache, *specs[s].front()) && !verified[s];
      const std::int32_t limit = drop ? std::min(current + block_size, cache.max_length) : current;
      counts[s] = find_hit(cache, specs[s], limit, drop);
      const std::int32_t length = counts[s] * block_size;
      if (drop)
        verified[s] = true;
      else if (length < current)
        verified.assign(specs.size(), false);
      asked[s] = true;
      current = length;
      hit.longest = std::max(hit.longest, current);
    }
    more = current < hit.num_tokens && !(specs.size() == 2 && !specs[0].front()->is_mamba);
    if (current < hit.num_tokens) hit.num_tokens = current;
  }
  if (!specs[0].front()->is_mamba)
    counts[0] = std::min(counts[0], hit.num_tokens / specs[0].front()->block_size);
  for (const ModelGroup& group : cache.groups)
    for (std::size_t s = 0; s < specs.size(); ++s)
      if (specs[s].front()->same_spec(group)) hit.blocks.push_back(block_list(group, counts[s]));
  return hit;
}

// One to five groups; a single one is hashed on its own grid.
ModelCache draw_cache() {
  ModelCache cache{.use_eagle = one_in(2)};
  const std::int32_t num_groups = one_in(6) ? 1 : draw(2, 5);
  for (std::int32_t group = 0; group < num_groups; ++group)
    cache.groups.push_back(
        {.is_mamba = group == 1 || one_in(2), .block_size = 4 * draw(1, 3), .is_eagle = one_in(5)});
  if (num_groups > 1) cache.groups[0].is_mamba = false;  // two specs at least
  if (num_groups == 1) cache.hash_block_size = cache.groups[0].block_size;
  cache.scheduler_block_size = 1;
  for (const ModelGroup& group : cache.groups)
    cache.scheduler_block_size = std::lcm(cache.scheduler_block_size, group.block_size);
  cache.max_length = draw(0, 100);
  return cache;
}

// Registers the prefixes of one text, most of them, some twice, in the pool and in the model.
void fill(ModelCache& cache, BlockPool& pool, const std::vector<BlockHash>& hashes) {
  std::int32_t block = 0;
  for (std::size_t g = 0; g < cache.groups.size(); ++g) {
    ModelGroup& group = cache.groups[g];
    const GroupParameters parameters{.group = static_cast<std::int32_t>(g),
                                     .block_size = group.block_size,
                                     .hash_block_size = cache.hash_block_size};
    for (std::int32_t column = 0; column < 96 / group.block_size; ++column)
      for (std::int32_t copies = one_in(10) ? 0 : draw(1, 2); copies > 0; --copies) {
        pool.cache_full_block({.block = ++block,
                               .owner = {.request = {}, .group = parameters.group},
                               .num_tokens = (column + 1) * group.block_size,
                               .block_hash = parameters.block_hash(hashes, column)});
        group.blocks.emplace(column, block);
      }
  }
}

ModelHit search(ModelCache& cache, const PolicySet& policies) {
  std::vector<KVCacheGroup> groups;
  for (const ModelGroup& group : cache.groups) {
    groups.push_back(group.is_mamba ? mamba_group(group.block_size)
                                    : full_attention_group(group.block_size));
    groups.back().is_eagle_group = group.is_eagle;
  }
  const auto coordinator =
      HybridCoordinator::create({.groups = groups,
                                 .use_eagle = cache.use_eagle,
                                 .scheduler_block_size = cache.scheduler_block_size,
                                 .hash_block_size = cache.hash_block_size,
                                 .policies = policies})
          .value();
  BlockPool pool({.num_blocks = 300, .policies = PolicySet{BlockRegistration::at_allocation}},
                 nullptr);
  const auto hashes = a_request(0, 104, 0, cache.hash_block_size).chain.block_hashes;
  fill(cache, pool, hashes);
  const CacheHit found = coordinator.find_longest_cache_hit(pool, hashes, cache.max_length);
  ModelHit hit{.num_tokens = found.num_hit_tokens, .longest = found.explanation.longest_hit_length};
  for (std::size_t g = 0; g < groups.size(); ++g) hit.blocks.push_back(to_vector(found.blocks(g)));
  RC_ASSERT(found.num_uncached_common_prefix_tokens.has_value() == (groups.size() > 1));
  RC_ASSERT(found.num_uncached_common_prefix_tokens.value_or(hit.longest - hit.num_tokens) ==
            hit.longest - hit.num_tokens);
  return hit;
}

void expect_equal(const ModelHit& found, const ModelHit& expected) {
  RC_ASSERT(found.num_tokens == expected.num_tokens);
  RC_ASSERT(found.longest == expected.longest);
  RC_ASSERT(found.blocks == expected.blocks);
}

TEST(HitSearchModel, SafeHitsAreTheLongestPrefixThatEveryGroupServes) {
  int num_hits = 0;
  check_property(3000, [&] {
    ModelCache cache = draw_cache();
    PolicySet policies;
    policies.set(HitsInsideBlocks::never);
    const ModelHit found = search(cache, policies);
    expect_equal(found, brute_force(cache));
    num_hits += found.num_tokens > 0 ? 1 : 0;
  });
  EXPECT_GT(num_hits, 1000);
}

TEST(HitSearchModel, ReferenceHitsAreThoseOfTheReferencesRounds) {
  int num_hits = 0;
  check_property(3000, [&] {
    ModelCache cache = draw_cache();
    const ModelHit found = search(cache, reference_policies());
    expect_equal(found, reference_rounds(cache));
    num_hits += found.num_tokens > 0 ? 1 : 0;
  });
  EXPECT_GT(num_hits, 1000);
}

}  // namespace
}  // namespace hybridscope::test::hit_search_model_test
