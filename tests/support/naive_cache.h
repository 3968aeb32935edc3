// Block pool, per-group block lists, hit search and slot allocation of the naive engine
// (docs/semantics/caching.md). Full attention groups come first, then the mamba groups.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/naive_config.h"

namespace hybridscope::test {

// A registered block's key: this token history, in this group.
struct NaiveKey {
  int prefix = 0;  // a node of the prefix tree
  int group = 0;
  friend auto operator<=>(const NaiveKey&, const NaiveKey&) = default;
};

// The block pool (semantics: block-pool). All members are public: the parts of the naive engine
// access each other freely.
struct NaiveBlockPool {
  std::deque<int> free_queue;                   // the head is allocated next
  std::vector<int> ref_cnt;                     // [num_blocks]
  std::map<int, NaiveKey> key_of;               // registered blocks
  std::map<NaiveKey, std::vector<int>> blocks;  // in order of insertion
  std::set<int> content_lost;                   // blocks whose old content must not be read

  explicit NaiveBlockPool(int num_blocks);
  std::vector<int> get_new_blocks(int count);
  void touch(int block);
  void free_blocks(const std::vector<int>& list);
  bool register_block(int block, NaiveKey key);  // false: it was already registered
  void drop_hash(int block);
  bool reset();
};

struct NaiveHit {
  int num_tokens = 0;
  int num_uncached_common_prefix_tokens = 0;
  std::vector<std::vector<int>> block_ids;  // [group]
};

// The inputs of allocate_slots for a request.
struct NaiveAllocation {
  int request = -1;
  int num_computed_tokens = 0;      // c, without the hit's tokens
  int num_new_tokens = 0;           // q
  const std::vector<int>* history;  // [num_tokens + 1] node of every prefix of the known tokens
  NaiveHit hit;                     // admissions: the hit
  bool full_sequence_must_fit = false;
  int watermark_blocks = 0;  // blocks to keep free
};

class NaiveCache {
 public:
  explicit NaiveCache(const NaiveConfig& config);

  void new_step_starts();
  // The longest hit of a request with these known tokens.
  NaiveHit find_hit(const std::vector<int>& history) const;
  // For each group, the block ids that the worker has to append; nullopt when refused.
  std::optional<std::vector<std::vector<int>>> allocate_slots(const NaiveAllocation& allocation);
  // Registers the full blocks among the first `num_tokens` tokens of a request that holds blocks;
  // only known tokens count.
  void cache_blocks(int request, const std::vector<int>& history, int num_tokens);
  void free(int request);
  // Removes the hashes of the blocks that the request registered in this step: they will not be
  // written.
  void withdraw(int request);
  // [group] block ids; empty lists for an unknown request.
  std::vector<std::vector<int>> block_ids(int request) const;

  NaiveBlockPool pool;

 private:
  struct Table {
    std::vector<int> blocks;
    int num_cached = 0;
    bool got_blocks = false;                  // mamba, align: allocated since admission
    std::optional<int> last_state_block_idx;  // mamba, align
  };
  bool align() const { return config_.mode == NaiveCacheMode::align; }
  int num_groups() const { return config_.num_groups(); }
  struct SpecGroup;
  std::vector<SpecGroup> spec_groups() const;
  int attention_blocks(const SpecGroup& spec, const std::vector<int>& history, int limit,
                       bool drop_eagle_block) const;
  int mamba_blocks(const SpecGroup& spec, const std::vector<int>& history, int limit) const;
  std::optional<int> cached_block(int group, const std::vector<int>& history, int num_tokens) const;
  void list_blocks(const std::vector<SpecGroup>& specs, const std::map<std::size_t, int>& counts,
                   const std::vector<int>& history, NaiveHit& hit) const;
  bool all_cached(const SpecGroup& spec, const std::vector<int>& history, int num_tokens) const;
  bool waits_for_planned(const NaiveHit& hit) const;
  int required_blocks(int group, int num_slots, int main_tokens) const;
  int need(int group, const Table& table, const NaiveAllocation& allocation, int required) const;
  std::vector<std::vector<int>> take_blocks(std::vector<Table>& tables,
                                            const NaiveAllocation& allocation, int num_slots,
                                            int main_tokens);
  void remove_skipped(int group, Table& table, int total_computed);
  std::vector<int> allocate_new(int group, Table& table, int required);
  void pad_and_move_speculative(Table& table, int required);

  NaiveConfig config_;
  std::map<int, std::vector<Table>> tables_;  // request -> [group]
  std::map<int, std::vector<int>> planned_;   // request -> blocks registered in this step
};

}  // namespace hybridscope::test
