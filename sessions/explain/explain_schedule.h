// Why the scheduler decided as it did about a request: prefix cache lookups, token counts, skips.
#pragma once

#include <string>
#include <string_view>

#include "core/engine/aligned_split_policies.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// The hit, then one line per group: how much the group has, and why not more. Lines are separated
// by newlines and not wrapped.
std::string explain_lookup(const AdmissionLookup& lookup, const EngineConfig& config,
                           const Names& names);

// A clause: "too little of the token budget is left for it".
std::string_view explain_skip(SkipReason reason);
// The reason with the numbers behind it. `terms` null: not known.
std::string explain_skip(const SkippedRequest& skipped, const TokenTerms* terms,
                         const EngineConfig& config);

// The terms of the aligned split (mode align): "computed 0 < 10; last_cache_position = 8; ...".
std::string explain_aligned_split(AlignedSplit rule, const AlignedSplitSettings& settings,
                                  const AlignedSplitInputs& inputs);

}  // namespace hybridscope
