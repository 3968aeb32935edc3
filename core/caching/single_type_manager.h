// What the managers of full-attention and of mamba groups have in common
// (semantics: get-num-blocks-to-allocate, allocate-new-blocks, cache-blocks). A manager holds the
// parameters of one group; block lists are passed in. The manager of full-attention groups is here
// too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/policy_set.h"
#include "core/caching/block_hash.h"
#include "core/caching/block_pool.h"
#include "core/caching/cache_events.h"
#include "core/caching/retention.h"

namespace hybridscope {

// The block list of one request in one KV-cache group (semantics: cache-blocks), and the
// two ways to change it. Every change is recorded, so that a log mirrors the list exactly.

struct RequestTable {
  std::vector<std::int32_t> block_ids;
  std::int32_t num_cached = -1;  // leading blocks considered cached; -1: not a running request
  std::int32_t last_state_block_idx = -1;  // align: column of the previous state; -1: not set
  bool got_blocks = false;                 // align: allocate_new has served the request before
  // The block that a hit or the prompt's end shares only in part, until it is copied (semantics:
  // hits-inside-blocks); -1: none.
  std::int32_t partial_column = -1;
  std::int32_t num_retired = 0;  // align: columns before this one hold no state any more
  // The chunk being scheduled stores a state after so many tokens (0: none) in this column.
  std::int32_t checkpoint_position = 0;
  std::int32_t checkpoint_column = -1;

  std::int32_t size() const { return static_cast<std::int32_t>(block_ids.size()); }
  // Is there a block in the column? Does not read the list's retired part, which is long and cold.
  bool holds_block(std::int32_t column) const {
    return column >= num_retired && column < size() &&
           block_ids[static_cast<std::size_t>(column)] != kNullBlock;
  }
};

// One request's list in one group, together with the pool its blocks come from.
struct TableEdit {
  BlockPool& pool;
  RequestTable& table;
  BlockOwner owner;

  void append(std::int32_t block) {
    table.block_ids.push_back(block);
    record(table.size() - 1, block);
  }
  void set(std::int32_t column, std::int32_t block) {
    table.block_ids[static_cast<std::size_t>(column)] = block;
    record(column, block);
  }
  std::int32_t operator[](std::int32_t column) const {
    return table.block_ids[static_cast<std::size_t>(column)];
  }

 private:
  void record(std::int32_t column, std::int32_t block) {
    pool.record({.kind = CacheEventKind::column_set,
                 .group = owner.group,
                 .request = owner.request,
                 .column = column,
                 .block = block});
  }
};

struct GroupParameters {
  std::int32_t group = 0;
  std::int32_t block_size = 16;       // tokens
  std::int32_t hash_block_size = 16;  // tokens; divides block_size where caching is on

  // The hash of the prefix that ends with block `block_index` of the group.
  BlockHash block_hash(std::span<const BlockHash> block_hashes, std::int32_t block_index) const {
    const auto hash_blocks =
        static_cast<std::int64_t>(block_index + 1) * block_size / hash_block_size;
    return block_hashes[static_cast<std::size_t>(hash_blocks - 1)];
  }
};

// get_num_blocks_to_allocate.
struct BlockNeedArgs {
  const BlockPool& pool;
  const RequestTable& table;                          // empty for a request without blocks
  std::span<const std::int32_t> new_computed_blocks;  // the group's part of the hit
  std::int64_t num_tokens = 0;                        // slots wanted, lookahead included
  std::int32_t num_tokens_main_model = 0;             // without lookahead
  std::int32_t num_computed_tokens = 0;               // computed and hit tokens
  std::int32_t prefill_end = 0;                       // tokens after which the request decodes
};

// find_longest_cache_hit of one spec: groups that share it are looked up together.
struct HitSearchArgs {
  const BlockPool& pool;
  std::span<const std::int32_t> groups;  // KV-cache groups of the spec
  std::span<const BlockHash> block_hashes;
  GroupParameters parameters;   // of any of the groups
  std::int32_t max_length = 0;  // tokens
  std::int32_t alignment = 1;   // tokens; the hit ends on a multiple of it
  bool drop_eagle_block = false;
  bool inside_blocks = false;  // the hit can end inside a block; alignment is a hash block then

  // Tokens that may be part of the hit.
  std::int32_t max_tokens() const {
    const auto hashed = static_cast<std::int64_t>(block_hashes.size()) * parameters.hash_block_size;
    return static_cast<std::int32_t>(std::min<std::int64_t>(max_length, hashed));
  }
  // Whole blocks that may be part of it.
  std::int32_t max_blocks() const { return max_tokens() / parameters.block_size; }
};

struct SpecHit {
  std::int32_t length = 0;  // tokens; the last block may be shared only in part
  std::int32_t num_blocks = 0;
  // Full attention: [num_blocks, groups], mamba: [groups], the block of the last column (the
  // columns before it are null); empty when num_blocks is 0.
  std::vector<std::int32_t> block_ids;
  GroupLookup lookup;
};

// The first block of the hit whose content is due only at the end of this step; -1: none.
std::int32_t first_planned_column(const BlockPool& pool, std::span<const std::int32_t> blocks);

// Does a hit of `num_tokens` tokens end inside its last block?
bool ends_inside_block(std::span<const std::int32_t> blocks, std::int32_t num_tokens,
                       std::int32_t block_size);

// A copy of one block to another that the step makes before anything else. Both keep a reference
// until it has been handed out (semantics: copy-on-write).
struct PendingCopy {
  BlockOwner owner;
  std::int32_t source_block = kNullBlock;
  std::int32_t block = kNullBlock;
};

// The request gets `block`, a copy of its own, in place of the block it shares in part.
PendingCopy copy_on_write(TableEdit edit, std::int32_t block);

// Number of hit blocks that are in the free queue now.
std::int64_t num_evictable_blocks(const BlockPool& pool, std::span<const std::int32_t> blocks);

// The common part of get_num_blocks_to_allocate. skipped_tokens may be negative.
std::int64_t common_blocks_to_allocate(const BlockNeedArgs& args, std::int32_t block_size,
                                       std::int32_t skipped_tokens);

// The common part of remove_skipped_blocks: frees and empties the columns that lie within the first
// `skipped_tokens` tokens.
void remove_skipped_blocks(TableEdit edit, std::int32_t block_size, std::int32_t skipped_tokens);

// The common part of add_local_computed_blocks: the hit becomes the start of the (empty) list.
// `num_hit_tokens`: if they end inside the last block, that block is shared in part.
void add_local_computed_blocks(TableEdit edit, std::span<const std::int32_t> new_computed_blocks,
                               std::int32_t num_skipped_blocks, std::int32_t num_hit_tokens,
                               std::int32_t block_size);

// The common part of allocate_new_blocks: grows the list to num_tokens tokens. Returns the first
// new column; nullopt, and no change, if the pool has too few free blocks.
std::optional<std::int32_t> allocate_common_blocks(TableEdit edit, std::int32_t block_size,
                                                   std::int64_t num_tokens);

// cache_blocks: registers those full blocks of the first num_tokens tokens that are not cached yet
// and are retained (null: all are). Returns the first column that was considered; the table's
// num_cached is the end.
std::int32_t cache_full_blocks(TableEdit edit, const GroupParameters& parameters,
                               std::span<const BlockHash> block_hashes, std::int32_t num_tokens,
                               const RetainedStates* retained);

// Frees all blocks, last first, and clears the list and its bookkeeping.
void free_table(TableEdit edit);

// Clears the list as well, but the blocks keep their references: appends them to `blocks` in the
// order in which they would be freed, null blocks left out (semantics: deferred-frees).
void defer_table(TableEdit edit, std::vector<std::int32_t>& blocks);

// The block list of a full-attention group: one block per block_size tokens, none is ever dropped
// while the request runs (semantics: full-attention-cache-hit).

struct FullAttentionManagerConfig {
  GroupParameters parameters;
  bool drops_eagle_block = false;  // the last block of a hit is computed again
  FixedPolicies policies = {};
};

class FullAttentionManager {
 public:
  explicit FullAttentionManager(const FullAttentionManagerConfig& config) : config_(config) {}

  // The longest run of cached blocks from the start.
  static SpecHit find_longest_cache_hit(const HitSearchArgs& args);

  // Does the hit end inside a block that was registered in this step (policy same_step_tail)?
  bool must_wait_for(std::span<const std::int32_t> new_computed_blocks,
                     std::int32_t num_computed_tokens) const;

  // Returns num_blocks of the pool + 1 if the hit cannot be used in this step.
  std::int64_t get_num_blocks_to_allocate(const BlockNeedArgs& args) const;

  void remove_skipped_blocks(TableEdit, std::int32_t) const {}
  void note_checkpoint(RequestTable&, const BlockNeedArgs&) const {}

  // Requires: the list is empty.
  void add_local_computed_blocks(TableEdit edit, std::span<const std::int32_t> new_computed_blocks,
                                 std::int32_t num_computed_tokens);

  // Returns the first new column; nullopt if the pool has too few free blocks.
  std::optional<std::int32_t> allocate_new_blocks(TableEdit edit, std::int32_t num_tokens,
                                                  std::int32_t num_tokens_main_model);

  void cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                    std::int32_t num_tokens, const CachedPrompt& prompt);

  // Number of leading blocks held by all num_requests requests that have a block list.
  std::int32_t get_num_common_prefix_blocks(const BlockPool& pool, const RequestTable& table,
                                            std::int32_t num_requests) const;

  void new_step_starts() { cached_this_step_.clear(); }
  std::vector<PendingCopy>& pending_copies() { return pending_copies_; }

 private:
  // Only where a hit may end inside a block are there hits that wait.
  bool tails_wait() const;
  void cache_prompt_tail(TableEdit edit, std::span<const BlockHash> block_hashes,
                         std::int32_t num_tokens, const CachedPrompt& prompt);

  FullAttentionManagerConfig config_;
  std::vector<PendingCopy> pending_copies_;
  std::vector<std::int32_t> cached_this_step_;  // blocks; only if hits have to wait for them
};

}  // namespace hybridscope
