// The block list of a mamba group: a block holds the recurrent state at its end; all but the last
// states are dropped as the request goes on (semantics: mamba-allocate-new-blocks,
// mamba-remove-skipped-blocks). Modes none and all: a block per block_size tokens and
// num_speculative_blocks more. Align: null blocks up to the running column, the running block, then
// the speculative blocks, which move along.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/policy_set.h"
#include "core/caching/retention.h"
#include "core/caching/single_type_manager.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

struct MambaManagerConfig {
  GroupParameters parameters;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t num_speculative_blocks = 0;
  RetentionRule retention = {};
  bool drops_eagle_block = false;         // the last block of a hit is computed again
  bool shared_prefix_checkpoint = false;  // the junction is registered inside a block too
  // What the layers' kernels can do, as MambaSpec says.
  bool has_prefill_checkpoint_blocks = false;
  std::int32_t prefill_checkpoint_alignment = 0;
  ReplayRule replay = {};
  FixedPolicies policies = {};
};

class MambaManager {
 public:
  explicit MambaManager(const MambaManagerConfig& config) : config_(config) {}

  // The last cached state. No eagle drop.
  static SpecHit find_longest_cache_hit(const HitSearchArgs& args);

  // Returns num_blocks of the pool + 1 if the hit cannot be used in this step. Align: may be
  // negative.
  std::int64_t get_num_blocks_to_allocate(const BlockNeedArgs& args) const;

  // Notes whether the chunk stores a state before its end, and where (semantics:
  // prefill-checkpoint).
  void note_checkpoint(RequestTable& table, const BlockNeedArgs& args) const;

  // Frees all states that a step after `num_computed_tokens` tokens can no longer need.
  void remove_skipped_blocks(TableEdit edit, std::int32_t num_computed_tokens) const;

  // Requires: the list is empty.
  void add_local_computed_blocks(TableEdit edit, std::span<const std::int32_t> new_computed_blocks,
                                 std::int32_t num_computed_tokens);

  // Returns the first new column (columns from there on may hold null and moved speculative
  // blocks); nullopt if the pool has too few free blocks.
  std::optional<std::int32_t> allocate_new_blocks(TableEdit edit, std::int32_t num_tokens,
                                                  std::int32_t num_tokens_main_model);

  // Registers the full blocks whose states are kept (semantics: retention).
  void cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                    std::int32_t num_tokens, const CachedPrompt& prompt);

  // Mamba states are not shared prefixes: always 0.
  std::int32_t get_num_common_prefix_blocks(const BlockPool&, const RequestTable&,
                                            std::int32_t) const {
    return 0;
  }

  // Forgets which hashes were registered in the previous step.
  void new_step_starts() { cached_this_step_.clear(); }

  // Copies of blocks that the step makes before anything else; the caller empties the list.
  std::vector<PendingCopy>& pending_copies() { return pending_copies_; }

  // Was the state of the hit's last block registered in the current step, and does the pool's
  // policy say to wait for it?
  bool must_wait_for(const BlockPool& pool,
                     std::span<const std::int32_t> new_computed_blocks) const;

 private:
  bool was_cached_this_step(const BlockPool& pool,
                            std::span<const std::int32_t> new_computed_blocks) const;
  bool align() const { return config_.mamba_cache_mode == MambaCacheMode::align; }
  std::int64_t with_speculative_blocks(std::int64_t num_tokens) const;
  std::int32_t required_blocks(std::int32_t num_tokens_main_model) const;
  // A chunk's checkpoint: tokens before it (0: none), and the column that holds it.
  struct Checkpoint {
    std::int32_t position = 0;
    std::int32_t column = -1;
  };
  Checkpoint checkpoint_of(const BlockNeedArgs& args) const;
  std::int64_t fresh_blocks(const BlockNeedArgs& args) const;
  void retire_states(TableEdit edit, std::int32_t num_computed_tokens) const;
  void move_speculative_blocks(TableEdit edit, std::int32_t first, std::int32_t end) const;
  void copy_partial_block(TableEdit edit, std::int32_t block);
  // No full block is new, and neither a checkpoint nor the prompt's end can be registered, as in
  // most decode steps: the end is no number of tokens past the prompt, nor in a column without
  // states.
  bool caches_nothing(const RequestTable& table, std::int32_t num_tokens,
                      const CachedPrompt& prompt) const;
  void cache_checkpoint(TableEdit edit, std::span<const BlockHash> block_hashes,
                        std::int32_t num_tokens, const CachedPrompt& prompt,
                        const RetainedStates& retained);
  bool keeps_checkpoint(const RequestTable& table, std::int32_t num_tokens,
                        const CachedPrompt& prompt, const RetainedStates& retained) const;
  void cache_prompt_tail(TableEdit edit, std::span<const BlockHash> block_hashes,
                         std::int32_t num_tokens, const CachedPrompt& prompt);
  std::int32_t prompt_tail(const CachedPrompt& prompt) const;
  void note_cached_this_step(const BlockPool& pool, std::int32_t block);
  std::optional<std::int32_t> allocate_align(TableEdit edit, std::int32_t num_tokens_main_model);

  MambaManagerConfig config_;
  std::vector<BlockHash> cached_this_step_;
  std::vector<PendingCopy> pending_copies_;
};

}  // namespace hybridscope
