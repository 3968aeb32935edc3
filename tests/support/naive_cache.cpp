#include "tests/support/naive_cache.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/naive_lists.h"

namespace hybridscope::test {
namespace {

// Hit blocks of one group; none for a running request.
std::vector<int> hit_blocks(const NaiveAllocation& allocation, int group) {
  if (allocation.hit.block_ids.empty()) return {};
  return allocation.hit.block_ids.at(static_cast<std::size_t>(group));
}

}  // namespace

NaiveCache::NaiveCache(const NaiveConfig& config) : pool(config.num_blocks), config_(config) {}

void NaiveCache::new_step_starts() { planned_.clear(); }

// Attention: a hit block that has not been written yet. Mamba (semantics:
// mamba-get-num-blocks-to-allocate): a hit whose last block has a key that was registered in this
// step, even if for another block.
bool NaiveCache::waits_for_planned(const NaiveHit& hit) const {
  if (hit.num_tokens == 0) return false;
  std::set<int> planned;
  std::set<NaiveKey> planned_keys;
  for (const auto& [request, blocks] : planned_)
    for (const int block : blocks) {
      planned.insert(block);
      planned_keys.insert(pool.key_of.at(block));
    }
  if (config_.rules.planned_state_hit_waits)
    for (int group = config_.num_attention_groups(); group < num_groups(); ++group)
      if (planned_keys.contains(
              pool.key_of.at(hit.block_ids.at(static_cast<std::size_t>(group)).back())))
        return true;
  if (config_.rules.planned_attention_hit_waits)
    for (int group = 0; group < config_.num_attention_groups(); ++group)
      for (const int block : hit.block_ids.at(static_cast<std::size_t>(group)))
        if (planned.contains(block)) return true;
  return false;
}

// The required length of the group's block list.
int NaiveCache::required_blocks(int group, int num_slots, int main_tokens) const {
  const int block_size = config_.group_block_size(group);
  if (config_.is_attention(group)) return ceil_div(num_slots, block_size);
  if (!align()) return ceil_div(num_slots, block_size) + config_.num_speculative_tokens;
  return ceil_div(main_tokens, block_size) + config_.num_speculative_tokens;
}

// The blocks to take from the free queue: new blocks, and hit blocks that no request holds.
int NaiveCache::need(int group, const Table& table, const NaiveAllocation& allocation,
                     int required) const {
  const std::vector<int> hit = hit_blocks(allocation, group);
  int count = required - size_of(hit) - size_of(table.blocks);
  if (config_.is_attention(group) || !align())
    count = std::max(count, 0);
  else if (count > 0)
    count = table.got_blocks ? 1 : 1 + config_.num_speculative_tokens;
  for (const int block : hit)
    if (block != 0 && pool.ref_cnt.at(static_cast<std::size_t>(block)) == 0) ++count;
  return count;
}

// allocate_slots (semantics: allocate-slots).
std::optional<std::vector<std::vector<int>>> NaiveCache::allocate_slots(
    const NaiveAllocation& allocation) {
  const int known = size_of(*allocation.history) - 1;
  const int total = allocation.num_computed_tokens + allocation.hit.num_tokens;
  const int main_tokens = total + allocation.num_new_tokens;
  const int lookahead = config_.use_eagle ? config_.num_speculative_tokens : 0;
  const int num_slots = std::min(main_tokens + lookahead, config_.max_model_len);
  const int num_free = static_cast<int>(pool.free_queue.size());

  const auto known_table = tables_.find(allocation.request);
  std::vector<Table> tables(static_cast<std::size_t>(num_groups()));
  if (known_table != tables_.end()) tables = known_table->second;
  const auto sum_of_needs = [&](int slots, int main) {
    int sum = 0;
    for (int group = 0; group < num_groups(); ++group)
      sum += need(group, tables.at(static_cast<std::size_t>(group)), allocation,
                  required_blocks(group, slots, main));
    return sum;
  };

  if (waits_for_planned(allocation.hit)) return std::nullopt;
  if (allocation.full_sequence_must_fit) {
    const int full = std::min(known, config_.max_model_len);
    if (sum_of_needs(full, full) + allocation.watermark_blocks > num_free) return std::nullopt;
  }
  for (int group = 0; group < num_groups(); ++group)
    remove_skipped(group, tables.at(static_cast<std::size_t>(group)), total);
  if (known_table != tables_.end()) known_table->second = tables;
  if (sum_of_needs(num_slots, main_tokens) + allocation.watermark_blocks >
      static_cast<int>(pool.free_queue.size()))
    return std::nullopt;

  return take_blocks(tables, allocation, num_slots, main_tokens);
}

// Steps 7 to 9: hit blocks of all groups first, then new blocks, then registration.
std::vector<std::vector<int>> NaiveCache::take_blocks(std::vector<Table>& tables,
                                                      const NaiveAllocation& allocation,
                                                      int num_slots, int main_tokens) {
  std::vector<std::vector<int>> new_block_ids;
  for (int group = 0; group < num_groups(); ++group) {
    Table& table = tables.at(static_cast<std::size_t>(group));
    for (const int block : hit_blocks(allocation, group)) {
      pool.touch(block);
      table.blocks.push_back(block);
      table.num_cached = size_of(table.blocks);
    }
  }
  for (int group = 0; group < num_groups(); ++group)
    new_block_ids.push_back(allocate_new(group, tables.at(static_cast<std::size_t>(group)),
                                         required_blocks(group, num_slots, main_tokens)));
  tables_[allocation.request] = tables;
  cache_blocks(allocation.request, *allocation.history, main_tokens);
  return new_block_ids;
}

// Frees what comes before the state that is needed if all drafts are rejected (semantics:
// remove-skipped-blocks, mamba-remove-skipped-blocks).
void NaiveCache::remove_skipped(int group, Table& table, int total_computed) {
  if (config_.is_attention(group)) return;
  const int block_size = config_.group_block_size(group);
  const int certain = total_computed - config_.num_speculative_tokens;
  const int skipped = certain - 1;
  if (skipped > 0) {
    std::vector<int> freed;
    for (int i = std::min(skipped / block_size, size_of(table.blocks)) - 1; i >= 0; --i) {
      int& block = at(table.blocks, i);
      if (block == 0) break;
      freed.push_back(block);
      block = 0;
    }
    pool.free_blocks(freed);
  }
  if (!align() || !table.last_state_block_idx) return;
  int& last_state = at(table.blocks, *table.last_state_block_idx);
  if (certain > 0 && *table.last_state_block_idx < ceil_div(certain, block_size) - 1 &&
      last_state != 0) {
    pool.free_blocks({last_state});
    last_state = 0;
  }
}

std::vector<int> NaiveCache::allocate_new(int group, Table& table, int required) {
  const int before = size_of(table.blocks);
  if (required <= before) return {};
  if (!config_.is_attention(group) && align()) pad_and_move_speculative(table, required);
  for (const int block : pool.get_new_blocks(required - size_of(table.blocks)))
    table.blocks.push_back(block);
  return {table.blocks.begin() + before, table.blocks.end()};
}

// Align: adds null columns up to the new running column; speculative blocks that would come before
// it move to the end (semantics: mamba-allocate-new-blocks).
void NaiveCache::pad_and_move_speculative(Table& table, int required) {
  const int spec = config_.num_speculative_tokens;
  const int before = size_of(table.blocks);
  const int running_column = required - spec - 1;
  if (table.got_blocks)
    table.last_state_block_idx = before - 1 - spec;
  else if (before > 0)
    table.last_state_block_idx = before - 1;
  while (size_of(table.blocks) < running_column) table.blocks.push_back(0);
  if (table.got_blocks) {
    for (int i = before - spec; i < before && i < running_column; ++i) {
      table.blocks.push_back(at(table.blocks, i));
      at(table.blocks, i) = 0;
    }
  }
  table.got_blocks = true;
}

// Registers up to the last length that all groups can agree on; an eagle group one block further
// (semantics: coordinator-cache-blocks).
void NaiveCache::cache_blocks(int request, const std::vector<int>& history, int num_tokens) {
  if (!align()) return;
  const int known = std::min(num_tokens, size_of(history) - 1);
  const int alignment = config_.scheduler_block_size();
  const int aligned = known / alignment * alignment;
  std::vector<Table>& tables = tables_.at(request);
  for (int group = 0; group < num_groups(); ++group) {
    Table& table = tables.at(static_cast<std::size_t>(group));
    const int block_size = config_.group_block_size(group);
    int to_cache = aligned;
    if (config_.is_eagle(group) && aligned > 0) to_cache = std::min(known, aligned + block_size);
    for (; table.num_cached < to_cache / block_size; ++table.num_cached) {
      const int block = at(table.blocks, table.num_cached);
      if (block == 0) continue;
      const auto end = static_cast<std::size_t>((table.num_cached + 1) * block_size);
      if (pool.register_block(block, {history.at(end), group})) planned_[request].push_back(block);
    }
  }
}

void NaiveCache::free(int request) {
  const auto found = tables_.find(request);
  if (found == tables_.end()) return;
  for (Table& table : found->second) {
    std::reverse(table.blocks.begin(), table.blocks.end());
    pool.free_blocks(table.blocks);
  }
  tables_.erase(found);
}

void NaiveCache::withdraw(int request) {
  if (!config_.rules.withdraw_planned) return;
  for (const int block : planned_[request]) pool.drop_hash(block);
  planned_.erase(request);
}

std::vector<std::vector<int>> NaiveCache::block_ids(int request) const {
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(num_groups()));
  const auto found = tables_.find(request);
  if (found == tables_.end()) return lists;
  for (std::size_t group = 0; group < lists.size(); ++group)
    lists[group] = found->second[group].blocks;
  return lists;
}

// The hit that all groups of the naive engine agree on (semantics: find-longest-cache-hit).

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
