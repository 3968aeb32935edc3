// The block list of a full-attention group: one block per block_size tokens, none is ever dropped
// while the request runs (semantics: full-attention-cache-hit).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/caching/fixed_policies.h"
#include "core/caching/retention.h"
#include "core/caching/single_type_manager.h"

namespace hybridscope {

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
