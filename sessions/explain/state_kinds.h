// The kinds of state that a group's layers keep: some models have no conv window (linear
// attention), some no temporal state (short convolutions).
#pragma once

#include <algorithm>

#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// A group without a list of its state tensors keeps both kinds.
inline bool keeps(const KVCacheGroup& group, StateKind kind) {
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  if (mamba == nullptr) return false;
  return mamba->states.empty() ||
         std::ranges::find(mamba->states, kind, &StateTensorSpec::kind) != mamba->states.end();
}

// Does any group keep this kind?
inline bool keeps(const KVCacheConfig& config, StateKind kind) {
  return std::ranges::any_of(config.groups,
                             [kind](const KVCacheGroup& group) { return keeps(group, kind); });
}

struct StatesKept {
  bool temporal = true;
  bool conv = true;
};
inline StatesKept states_kept(const KVCacheConfig& config) {
  return {.temporal = keeps(config, StateKind::temporal), .conv = keeps(config, StateKind::conv)};
}
inline StatesKept states_kept(const KVCacheGroup& group) {
  return {.temporal = keeps(group, StateKind::temporal), .conv = keeps(group, StateKind::conv)};
}

}  // namespace hybridscope
