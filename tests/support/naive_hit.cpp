// The hit that all groups of the naive engine agree on (semantics: find-longest-cache-hit).
#include <algorithm>
#include <map>
#include <set>

#include "tests/support/naive_cache.h"

namespace hybridscope::test {

// The groups with one spec.
struct NaiveCache::SpecGroup {
  bool attention = false;
  bool eagle = false;
  int block_size = 0;
  std::vector<int> groups;
};

// In order of first appearance; full-attention groups come first.
std::vector<NaiveCache::SpecGroup> NaiveCache::spec_groups() const {
  std::vector<SpecGroup> specs;
  for (int group = 0; group < num_groups(); ++group) {
    const bool attention = config_.is_attention(group);
    const int block_size = config_.group_block_size(group);
    const auto equal = std::find_if(specs.begin(), specs.end(), [&](const SpecGroup& spec) {
      return spec.attention == attention && spec.block_size == block_size;
    });
    if (equal != specs.end())
      equal->groups.push_back(group);
    else
      specs.push_back({attention, config_.is_eagle(group), block_size, {group}});
  }
  return specs;
}

std::optional<int> NaiveCache::cached_block(int group, const std::vector<int>& history,
                                            int num_tokens) const {
  const auto found = pool.blocks.find({history.at(static_cast<std::size_t>(num_tokens)), group});
  if (found == pool.blocks.end()) return std::nullopt;
  return found->second.front();
}

bool NaiveCache::all_cached(const SpecGroup& spec, const std::vector<int>& history,
                            int num_tokens) const {
  return std::all_of(spec.groups.begin(), spec.groups.end(), [&](int group) {
    return cached_block(group, history, num_tokens).has_value();
  });
}

// The number of consecutive blocks from the left, within `limit` tokens (semantics:
// full-attention-cache-hit).
int NaiveCache::attention_blocks(const SpecGroup& spec, const std::vector<int>& history, int limit,
                                 bool drop_eagle_block) const {
  int count = 0;
  while ((count + 1) * spec.block_size <= limit &&
         all_cached(spec, history, (count + 1) * spec.block_size))
    ++count;
  if (drop_eagle_block && count > 0) --count;
  while (count * spec.block_size % config_.scheduler_block_size() != 0) --count;
  return count;
}

// Column of the last state, plus one (semantics: mamba-cache-hit).
int NaiveCache::mamba_blocks(const SpecGroup& spec, const std::vector<int>& history,
                             int limit) const {
  int count = limit / spec.block_size;
  while (count > 0 && (count * spec.block_size % config_.scheduler_block_size() != 0 ||
                       !all_cached(spec, history, count * spec.block_size)))
    --count;
  return count;
}

NaiveHit NaiveCache::find_hit(const std::vector<int>& history) const {
  NaiveHit hit;
  hit.block_ids.resize(static_cast<std::size_t>(num_groups()));
  if (!align()) return hit;
  const int max_length = static_cast<int>(history.size()) - 2;  // num_tokens - 1
  const std::vector<SpecGroup> specs = spec_groups();
  std::map<std::size_t, int> counts;  // [spec] number of blocks in its last lookup
  std::set<std::size_t> verified;
  int longest = 0;
  hit.num_tokens = max_length;
  for (bool agreed = false; !agreed;) {
    int current = hit.num_tokens;
    for (std::size_t s = 0; s < specs.size(); ++s) {
      const SpecGroup& spec = specs[s];
      if (spec.attention && counts.contains(s)) {
        current = current / spec.block_size * spec.block_size;
        continue;
      }
      const bool looks_ahead = spec.attention || !config_.rules.mamba_no_eagle_lookahead;
      const bool drops = spec.eagle && looks_ahead && !verified.contains(s);
      const int limit = drops ? std::min(current + spec.block_size, max_length) : current;
      counts[s] = spec.attention ? attention_blocks(spec, history, limit, drops)
                                 : mamba_blocks(spec, history, limit);
      const int found = counts[s] * spec.block_size;
      if (drops)
        verified.insert(s);
      else if (found < current)
        verified.clear();
      current = found;
      longest = std::max(longest, current);
    }
    agreed = current >= hit.num_tokens || (specs.size() == 2 && specs[0].attention);
    hit.num_tokens = current;
  }
  hit.num_uncached_common_prefix_tokens = longest - hit.num_tokens;
  list_blocks(specs, counts, history, hit);
  return hit;
}

// Attention lists are cut to the hit; a mamba list ends with the state found last.
void NaiveCache::list_blocks(const std::vector<SpecGroup>& specs,
                             const std::map<std::size_t, int>& counts,
                             const std::vector<int>& history, NaiveHit& hit) const {
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const SpecGroup& spec = specs[s];
    int count = counts.at(s);
    if (spec.attention && (s == 0 || config_.rules.every_attention_group_is_cut))
      count = std::min(count, hit.num_tokens / spec.block_size);
    for (const int group : spec.groups) {
      std::vector<int>& list = hit.block_ids.at(static_cast<std::size_t>(group));
      for (int i = 1; i <= count; ++i)
        list.push_back(spec.attention || i == count
                           ? cached_block(group, history, i * spec.block_size).value()
                           : 0);
    }
  }
}

}  // namespace hybridscope::test
