// What decides which states of a prompt stay in the prefix cache (semantics: retention), as the
// first recurrent group of a configuration has it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/caching/retention.h"
#include "core/engine/engine_config.h"
#include "core/trace/schedule_trace.h"

namespace hybridscope {

struct GroupRetention {
  std::int32_t group = -1;
  std::int32_t block_size = 1;
  bool drops_eagle_block = false;
  RetentionRule rule = {};  // without an interval every state is kept
};

// The retention rule of the recurrent groups; empty if prefix caching is off or no group has
// recurrent state.
std::optional<GroupRetention> group_retention(const EngineConfig& config);

// The end of the longest prefix that some group had, if the hit is shorter (semantics: junction);
// 0: there is none.
std::int32_t junction_of(const AdmissionLookup& lookup);

}  // namespace hybridscope
