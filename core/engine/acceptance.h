// Which draft tokens are accepted, and what drafts look like: keyed draws, no random stream, so
// that modes, runners and forks stay comparable (semantics: draft-acceptance).
#pragma once

#include <cstdint>

#include "core/engine/token_sequence.h"

namespace hybridscope {

struct AcceptanceConfig {
  std::uint64_t seed = 0;
  double rate = 0.7;  // 0..1: chance of each draft, if all before it were accepted
};

// Is the draft for output position `position` of the request the token that the model generates?
bool draft_is_accepted(const AcceptanceConfig& config, std::uint64_t request_key,
                       std::int64_t position);

// Accepted tokens of a verify row, bonus token included: 1 + the length of the run of accepted
// drafts among `num_draft_tokens`, the first of which is at `first_position`.
std::int32_t keyed_num_accepted_tokens(const AcceptanceConfig& config, std::uint64_t request_key,
                                       std::int64_t first_position, std::int32_t num_draft_tokens);

// Length of an ngram draft list, 0..num_speculative_tokens, by a keyed draw.
std::int32_t ngram_num_draft_tokens(const AcceptanceConfig& config, std::uint64_t request_key,
                                    std::int64_t position, std::int32_t num_speculative_tokens);

// A draft that is not accepted: equal to no prompt or output token.
TokenContent rejected_draft_token(const AcceptanceConfig& config, std::uint64_t request_key,
                                  std::int64_t position);

}  // namespace hybridscope
