// Policies on the tokens and draft counts of rows.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// How does a decode row run in a step in which no row has drafts? (known bug 7)
enum class NoDraftStep : std::uint8_t {
  verify_with_counts,  // as a verify row with q = 1 that knows its accepted count
  column_zero,         // reference: counts are not passed, state is read from column 0
  zero_drafts,         // 0.32.0: counts are passed, and such a row has a draft count of 0
};
template <>
struct PolicyOf<NoDraftStep> : PolicyAt<NoDraftStep::verify_with_counts, 20> {};

// V2: with which token does the last row of a prompt begin if it was padded to 1 + K tokens? (known
// bug 52)
enum class PaddedPromptToken : std::uint8_t {
  of_the_prompt,
  last_sampled,  // the slot's last sampled token, which admission set to the token before
};
template <>
struct PolicyOf<PaddedPromptToken> : PolicyAt<PaddedPromptToken::of_the_prompt, 43> {};

// V1, asynchronous: what are the drafts of a request that comes back after a skipped step?
// (known bug 53)
enum class ReturningDrafts : std::uint8_t {
  scattered,
  placeholders,  // ids of -1, because drafts go to rows with a previous row only; all are rejected
};
template <>
struct PolicyOf<ReturningDrafts> : PolicyAt<ReturningDrafts::scattered, 44> {};

// Which rows have a draft count, as the metadata builders are given it? (semantics:
// draft-and-accepted-counts)
enum class DraftMask : std::uint8_t {
  past_the_prompt,         // rows with drafts that are not prefilling
  of_drafts,               // 0.25.0: every row of its drafts and one token more
  of_drafts_with_context,  // 0.31.0: V2: not those whose request has no state yet
};
template <>
struct PolicyOf<DraftMask> : PolicyAt<DraftMask::past_the_prompt, 60> {};

}  // namespace hybridscope
