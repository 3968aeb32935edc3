#include "core/caching/hybrid_coordinator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/math.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/mamba_manager.h"

namespace hybridscope {
namespace {

Status check_sizes(const CoordinatorConfig& config) {
  if (config.scheduler_block_size <= 0 || config.hash_block_size <= 0)
    return invalid_input("scheduler_block_size " + std::to_string(config.scheduler_block_size) +
                         " and hash_block_size " + std::to_string(config.hash_block_size) +
                         " must be positive");
  for (std::size_t group = 0; group < config.groups.size(); ++group) {
    const std::int32_t block_size = config.groups[group].block_size();
    if (block_size <= 0)
      return invalid_input("KV-cache group " + std::to_string(group) + ": block_size " +
                           std::to_string(block_size) + " must be positive");
  }
  return Ok{};
}

Status check_hash_blocks(const CoordinatorConfig& config) {
  if (config.groups.empty()) return invalid_input("prefix caching needs at least 1 KV-cache group");
  for (std::size_t group = 0; group < config.groups.size(); ++group) {
    const std::int32_t block_size = config.groups[group].block_size();
    const bool fits = config.groups.size() == 1 ? block_size == config.hash_block_size
                                                : block_size % config.hash_block_size == 0;
    if (!fits)
      return invalid_input("KV-cache group " + std::to_string(group) + ": block_size " +
                           std::to_string(block_size) + " does not fit hash_block_size " +
                           std::to_string(config.hash_block_size) +
                           " (1 group: equal, several: a multiple)");
  }
  return Ok{};
}

bool any(const std::vector<bool>& groups) {
  return std::ranges::find(groups, true) != groups.end();
}

// Which groups drop the last block of a hit.
std::vector<bool> eagle_groups(const CoordinatorConfig& config, const std::vector<bool>& flagged) {
  if (config.use_eagle) return any(flagged) ? flagged : std::vector<bool>(flagged.size(), true);
  return config.policies.is(EagleProof::block_drop) ? flagged
                                                    : std::vector<bool>(flagged.size(), false);
}

}  // namespace

bool hits_end_inside_blocks(std::span<const KVCacheGroup> groups, std::int32_t hash_block_size,
                            const PolicySet& policies) {
  if (policies.is(HitsInsideBlocks::never) || groups.size() < 2) return false;
  return std::ranges::any_of(groups, [hash_block_size](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba != nullptr && mamba->mamba_cache_mode == MambaCacheMode::align &&
           mamba->block_size > hash_block_size;
  });
}

struct HybridCoordinator::Search {
  const BlockPool& pool;
  std::span<const BlockHash> block_hashes;
  std::int32_t max_cache_hit_length = 0;
  std::int32_t hit_length = 0;      // agreed so far
  std::int32_t current_length = 0;  // within a round
  std::int32_t longest_hit_length = 0;
  std::int32_t num_rounds = 0;
  std::vector<SpecHit> hits;    // [spec groups], of the last lookup
  std::vector<bool> looked_up;  // [spec groups]
  std::vector<bool> verified;   // [spec groups], looked up with its eagle block dropped
};

Result<HybridCoordinator> HybridCoordinator::create(const CoordinatorConfig& config) {
  if (const Status sizes = check_sizes(config); !sizes) return sizes.error();
  HybridCoordinator coordinator;
  std::vector<bool> flagged;
  for (const KVCacheGroup& group : config.groups) flagged.push_back(group.is_eagle_group);
  coordinator.hit_alignment_ = config.scheduler_block_size;
  coordinator.policies_ = config.policies;
  coordinator.is_eagle_ = eagle_groups(config, flagged);
  for (std::size_t group = 0; group < config.groups.size(); ++group)
    coordinator.parameters_.push_back({.group = static_cast<std::int32_t>(group),
                                       .block_size = config.groups[group].block_size(),
                                       .hash_block_size = config.hash_block_size});
  if (!config.enable_caching) return coordinator;

  if (const Status sizes = check_hash_blocks(config); !sizes) return sizes.error();
  coordinator.merge_spec_groups(config);
  coordinator.kind_ =
      config.groups.size() == 1 ? CoordinatorKind::unitary : CoordinatorKind::hybrid;
  if (coordinator.kind_ == CoordinatorKind::unitary) {
    coordinator.hit_alignment_ = config.groups.front().block_size();
    return coordinator;
  }
  coordinator.hits_inside_blocks_ =
      hits_end_inside_blocks(config.groups, config.hash_block_size, config.policies.set());
  if (coordinator.hits_inside_blocks_) coordinator.hit_alignment_ = config.hash_block_size;
  if (coordinator.spec_groups_.size() < 2)
    return invalid_input("all " + std::to_string(config.groups.size()) +
                         " KV-cache groups share one spec; a hybrid cache needs at least 2 specs");
  return coordinator;
}

void HybridCoordinator::merge_spec_groups(const CoordinatorConfig& config) {
  for (const bool mamba : {false, true}) {
    for (std::size_t group = 0; group < config.groups.size(); ++group) {
      if (config.groups[group].is_mamba() != mamba) continue;
      const auto same_spec = [&](const SpecGroup& merged) {
        const auto first = static_cast<std::size_t>(merged.groups.front());
        return config.groups[first].spec == config.groups[group].spec;
      };
      auto merged = std::find_if(spec_groups_.begin(), spec_groups_.end(), same_spec);
      if (merged == spec_groups_.end()) {
        spec_groups_.push_back(
            {.is_mamba = mamba, .is_eagle = false, .parameters = parameters_[group], .groups = {}});
        merged = spec_groups_.end() - 1;
      }
      merged->groups.push_back(static_cast<std::int32_t>(group));
      merged->is_eagle = merged->is_eagle || is_eagle_[group];
    }
  }
  // One eagle group makes all groups of its spec eagle groups (semantics:
  // kv-cache-coordinator).
  for (const SpecGroup& merged : spec_groups_)
    for (const std::int32_t group : merged.groups)
      is_eagle_[static_cast<std::size_t>(group)] = merged.is_eagle;
  places_.resize(config.groups.size());
  for (std::size_t spec_group = 0; spec_group < spec_groups_.size(); ++spec_group)
    for (std::size_t member = 0; member < spec_groups_[spec_group].groups.size(); ++member)
      places_[static_cast<std::size_t>(spec_groups_[spec_group].groups[member])] = {spec_group,
                                                                                    member};
}

bool HybridCoordinator::any_eagle_group() const { return any(is_eagle_); }

bool HybridCoordinator::mamba_groups_look_ahead() const {
  return policies_.is(MambaEagleLookahead::longer_limit) && !hits_inside_blocks_;
}

std::int32_t HybridCoordinator::num_tokens_to_cache(std::int32_t group,
                                                    std::int32_t num_tokens) const {
  if (kind_ != CoordinatorKind::hybrid) return num_tokens;
  if (hits_inside_blocks_) return num_tokens;
  const std::int32_t aligned = round_down(num_tokens, hit_alignment_);
  if (aligned <= 0 || !is_eagle_[static_cast<std::size_t>(group)]) return aligned;
  return std::min(num_tokens, aligned + parameters_[static_cast<std::size_t>(group)].block_size);
}

CacheHit HybridCoordinator::find_longest_cache_hit(const BlockPool& pool,
                                                   std::span<const BlockHash> block_hashes,
                                                   std::int32_t max_cache_hit_length) const {
  if (kind_ == CoordinatorKind::no_prefix_cache) return empty_hit(max_cache_hit_length);
  Search search{.pool = pool,
                .block_hashes = block_hashes,
                .max_cache_hit_length = max_cache_hit_length,
                .hit_length = max_cache_hit_length,
                .current_length = max_cache_hit_length,
                .hits = std::vector<SpecHit>(spec_groups_.size()),
                .looked_up = std::vector<bool>(spec_groups_.size()),
                .verified = std::vector<bool>(spec_groups_.size())};
  if (kind_ == CoordinatorKind::unitary) {
    search.num_rounds = 1;
    look_up(search, 0);
    search.hit_length = search.current_length;
    return assemble(search);
  }
  while (true) {
    run_round(search);
    if (search.current_length >= search.hit_length) break;
    search.hit_length = search.current_length;
    if (one_round_suffices(search.hit_length)) break;
  }
  return assemble(search);
}

void HybridCoordinator::run_round(Search& search) const {
  ++search.num_rounds;
  search.current_length = search.hit_length;
  for (std::size_t spec_group = 0; spec_group < spec_groups_.size(); ++spec_group) {
    const SpecGroup& spec = spec_groups_[spec_group];
    // A shorter prefix of a run of cached blocks is cached as well: no second lookup.
    if (spec.is_mamba || !search.looked_up[spec_group])
      look_up(search, spec_group);
    else if (hits_inside_blocks_)
      search.current_length = std::min(search.current_length, search.hits[spec_group].length);
    else
      search.current_length = round_down(search.current_length, spec.parameters.block_size);
  }
}

// How far a group may look for a hit whose last block is dropped.
std::int32_t HybridCoordinator::eagle_limit(const Search& search, const SpecGroup& spec) const {
  std::int32_t margin = spec.parameters.block_size;
  if (hits_inside_blocks_ && !policies_.is(EagleMargin::whole_block))
    margin = std::min(margin, spec.parameters.hash_block_size);
  const auto hashed =
      static_cast<std::int32_t>(search.block_hashes.size()) * spec.parameters.hash_block_size;
  return std::min(search.current_length + margin,
                  policies_.is(EagleMargin::hash_block_to_the_last_hash)
                      ? hashed
                      : search.max_cache_hit_length);
}

void HybridCoordinator::look_up(Search& search, std::size_t spec_group) const {
  const SpecGroup& spec = spec_groups_[spec_group];
  const bool drop = spec.is_eagle && (!spec.is_mamba || mamba_groups_look_ahead()) &&
                    !search.verified[spec_group];
  const HitSearchArgs args{
      .pool = search.pool,
      .groups = spec.groups,
      .block_hashes = search.block_hashes,
      .parameters = spec.parameters,
      .max_length = drop ? eagle_limit(search, spec) : search.current_length,
      .alignment = hit_alignment_,
      .drop_eagle_block = drop,
      .inside_blocks = hits_inside_blocks_ && hit_alignment_ < spec.parameters.block_size};
  SpecHit hit = spec.is_mamba ? MambaManager::find_longest_cache_hit(args)
                              : FullAttentionManager::find_longest_cache_hit(args);
  if (hit.lookup.stop == LookupStop::limit_reached && args.max_length < search.max_cache_hit_length)
    hit.lookup.stop = LookupStop::cut_to_other_group;
  if (search.looked_up[spec_group]) hit.lookup = search.hits[spec_group].lookup;

  const std::int32_t length = hit.length;
  if (drop)
    search.verified[spec_group] = true;
  else if (length < search.current_length)
    search.verified.assign(search.verified.size(), false);
  search.looked_up[spec_group] = true;
  search.hits[spec_group] = std::move(hit);
  search.current_length = length;
  search.longest_hit_length = std::max(search.longest_hit_length, length);
}

// With one full-attention and one other spec the second group's answer is final: the first can
// serve any shorter length of whole blocks, and with hits inside blocks any.
bool HybridCoordinator::one_round_suffices(std::int32_t hit_length) const {
  if (spec_groups_.size() != 2 || spec_groups_.front().is_mamba) return false;
  return hits_inside_blocks_ || mamba_groups_look_ahead() ||
         hit_length % spec_groups_.front().parameters.block_size == 0;
}

CacheHit HybridCoordinator::empty_hit(std::int32_t max_cache_hit_length) const {
  CacheHit hit;
  hit.group_start.assign(parameters_.size() + 1, 0);
  hit.explanation.max_cache_hit_length = max_cache_hit_length;
  hit.explanation.groups.resize(parameters_.size());
  return hit;
}

CacheHit HybridCoordinator::assemble(const Search& search) const {
  CacheHit hit = empty_hit(search.max_cache_hit_length);
  hit.num_hit_tokens = search.hit_length;
  hit.explanation.longest_hit_length = search.longest_hit_length;
  hit.explanation.num_rounds = search.num_rounds;
  if (kind_ == CoordinatorKind::hybrid)
    hit.num_uncached_common_prefix_tokens = search.longest_hit_length - search.hit_length;
  for (std::size_t group = 0; group < places_.size(); ++group) {
    append_blocks(search, group, hit);
    hit.group_start[group + 1] = static_cast<std::int32_t>(hit.block_ids.size());
    GroupLookup& lookup = hit.explanation.groups[group];
    lookup = search.hits[places_[group].spec_group].lookup;
    if (search.hit_length < lookup.hit_length) lookup.stop = LookupStop::cut_to_other_group;
    lookup.planned_column = first_planned_column(search.pool, hit.blocks(group));
  }
  return hit;
}

void HybridCoordinator::append_blocks(const Search& search, std::size_t group,
                                      CacheHit& hit) const {
  const Place place = places_[group];
  const SpecGroup& spec = spec_groups_[place.spec_group];
  const SpecHit& found = search.hits[place.spec_group];
  if (spec.is_mamba) {
    if (found.num_blocks == 0) return;
    hit.block_ids.insert(hit.block_ids.end(), static_cast<std::size_t>(found.num_blocks - 1),
                         kNullBlock);
    hit.block_ids.push_back(found.block_ids[place.member]);
    return;
  }
  const bool cut = place.spec_group == 0 || policies_.is(FullAttentionCut::every_group);
  const std::int32_t num_blocks =
      cut ? std::min(found.num_blocks, cdiv(search.hit_length, spec.parameters.block_size))
          : found.num_blocks;
  for (std::size_t block = 0; block < static_cast<std::size_t>(num_blocks); ++block)
    hit.block_ids.push_back(found.block_ids[block * spec.groups.size() + place.member]);
}

}  // namespace hybridscope
