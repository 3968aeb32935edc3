// The commands that an engine takes between two steps. Scenarios, traffic readers, the CLI and the
// GUI all use them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/engine/token_sequence.h"

namespace hybridscope {

struct AddRequest {
  std::string name;                   // display name: "A", "r17"
  std::vector<PromptSegment> prompt;  // at least one token in all
  std::int32_t max_tokens = 1;        // output tokens after which the request ends
  std::int32_t priority = 0;          // smaller is more important
  std::uint64_t cache_salt = 0;       // requests with unequal salts never share
  std::uint64_t key = 0;              // names the request in output tokens and acceptance draws
};

// Preempts a running request before the next step schedules; ignored (as the trace then reports)
// when the request is not running.
struct PreemptRequest {
  RequestId request;
};

struct AbortRequest {
  RequestId request;
};

struct ResetPrefixCache {
  bool reset_running_requests = false;
};

// Token budget of the next step only.
struct SetStepBudget {
  std::int32_t max_num_batched_tokens = 0;
};

// Sets num_accepted_tokens (bonus token included) of what the request samples in the next step; a
// count above 1 + its drafts is cut to that. The trace reports a count that was cut or not used.
struct SetAcceptedTokens {
  RequestId request;
  std::int32_t num_accepted_tokens = 1;
};

// Replaces the request's draft list for the next step by one of this length (0..K).
struct SetDraftTokens {
  RequestId request;
  std::int32_t num_draft_tokens = 0;
};

// Caching policies cannot change while an engine runs: another value is refused.
struct SetPolicies {
  PolicySet policies;
};

// Carried out when the next step begins.
using DeferredCommand = std::variant<PreemptRequest, AbortRequest, ResetPrefixCache, SetStepBudget,
                                     SetAcceptedTokens, SetDraftTokens, SetPolicies>;

using Command = std::variant<AddRequest, PreemptRequest, AbortRequest, ResetPrefixCache,
                             SetStepBudget, SetAcceptedTokens, SetDraftTokens, SetPolicies>;

}  // namespace hybridscope
