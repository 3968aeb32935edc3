// Makes the KV-cache groups agree: on the length of a cache hit and on how many tokens are cached
// (semantics: kv-cache-coordinator, find-longest-cache-hit). Holds no blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/caching/block_pool.h"
#include "core/caching/cache_events.h"
#include "core/caching/single_type_manager.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

struct CoordinatorConfig {
  std::span<const KVCacheGroup> groups = {};  // read by create only
  bool enable_caching = true;
  bool use_eagle = false;  // the last block of a hit is computed again for a draft model
  std::int32_t scheduler_block_size = 16;  // tokens; hits of several groups end on multiples of it
  std::int32_t hash_block_size = 16;       // tokens
  FixedPolicies policies = {};
};

// Can a hit end inside a block, with prefix caching and several groups? (semantics:
// hits-inside-blocks)
bool hits_end_inside_blocks(std::span<const KVCacheGroup> groups, std::int32_t hash_block_size,
                            const PolicySet& policies);

enum class CoordinatorKind : std::uint8_t { no_prefix_cache, unitary, hybrid };

class HybridCoordinator {
 public:
  // Errors: a size that is not positive; with caching: no group; one group whose block size is not
  // hash_block_size; several groups that all have one spec, or a block size that is not a multiple
  // of hash_block_size.
  static Result<HybridCoordinator> create(const CoordinatorConfig& config);

  CoordinatorKind kind() const { return kind_; }
  std::int32_t num_groups() const { return static_cast<std::int32_t>(parameters_.size()); }

  // Is the last block of a hit in this group computed again for a draft model?
  bool is_eagle_group(std::int32_t group) const {
    return is_eagle_[static_cast<std::size_t>(group)];
  }
  bool any_eagle_group() const;
  // MambaEagleLookahead::longer_limit, unless hits may end inside blocks.
  bool mamba_groups_look_ahead() const;

  // Can hits end inside a block (semantics: hits-inside-blocks)? Then they end on hash blocks.
  bool hits_inside_blocks() const { return hits_inside_blocks_; }
  // Tokens: hits end on multiples of it.
  std::int32_t hit_alignment() const { return hit_alignment_; }

  // The longest prefix, at most max_cache_hit_length tokens, that every group can serve.
  // Requires: block_hashes cover max_cache_hit_length tokens (what they do not cover is a miss).
  CacheHit find_longest_cache_hit(const BlockPool& pool, std::span<const BlockHash> block_hashes,
                                  std::int32_t max_cache_hit_length) const;

  // cache_blocks: how many of the first num_tokens tokens the group caches.
  std::int32_t num_tokens_to_cache(std::int32_t group, std::int32_t num_tokens) const;

 private:
  // Groups with equal specs, in order of first appearance, full attention first.
  struct SpecGroup {
    bool is_mamba = false;
    bool is_eagle = false;
    GroupParameters parameters;
    std::vector<std::int32_t> groups;
  };
  // Where a KV-cache group's part of a SpecHit is.
  struct Place {
    std::size_t spec_group = 0;
    std::size_t member = 0;  // index in its SpecGroup::groups
  };
  struct Search;  // one lookup in progress

  HybridCoordinator() = default;
  void merge_spec_groups(const CoordinatorConfig& config);
  CacheHit empty_hit(std::int32_t max_cache_hit_length) const;
  void run_round(Search& search) const;
  void look_up(Search& search, std::size_t spec_group) const;
  std::int32_t eagle_limit(const Search& search, const SpecGroup& spec) const;
  bool one_round_suffices(std::int32_t hit_length) const;
  CacheHit assemble(const Search& search) const;
  void append_blocks(const Search& search, std::size_t group, CacheHit& hit) const;

  CoordinatorKind kind_ = CoordinatorKind::no_prefix_cache;
  std::vector<GroupParameters> parameters_;  // [num_groups]
  std::vector<bool> is_eagle_;               // [num_groups]
  std::vector<SpecGroup> spec_groups_;
  std::vector<Place> places_;  // [num_groups]
  bool hits_inside_blocks_ = false;
  std::int32_t hit_alignment_ = 16;
  FixedPolicies policies_;
};

}  // namespace hybridscope
