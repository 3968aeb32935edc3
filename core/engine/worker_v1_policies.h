// Policies of runner V1.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Who owns the accepted count between steps? (known bug 48; semantics: input-batch)
enum class AcceptedCountOwner : std::uint8_t {
  request,         // survives a step in which the request is not scheduled
  persistent_row,  // reference V1: a returning request starts at 1
};
template <>
struct PolicyOf<AcceptedCountOwner> : PolicyAt<AcceptedCountOwner::request, 18> {};

// AcceptedCountOwner::persistent_row, asynchronous, mode align: the counts of the frame before are
// copied to the host array while the next frame moves its rows, then gathered by each row's
// previous place. When does the copy land? (known bug 9; semantics: accepted-counts-v1)
enum class AcceptedCountLanding : std::uint8_t {
  after_row_moves,   // the gather finds each count where the row was
  before_row_moves,  // the moves carry the counts along, the gather then moves them again
};
template <>
struct PolicyOf<AcceptedCountLanding> : PolicyAt<AcceptedCountLanding::after_row_moves, 24> {};

// V1, asynchronous, modes none and all: are accepted counts read only after their copy to the host
// has ended? (known bug 39)
enum class AcceptedCountRead : std::uint8_t {
  after_the_copy,
  before_the_copy,  // the counts are those of the frame before
};
template <>
struct PolicyOf<AcceptedCountRead> : PolicyAt<AcceptedCountRead::after_the_copy, 45> {};

// V1, mode align: does a request that is reset and resumed in one step forget the column of its
// state? (known bug 32)
enum class ResumedStateColumn : std::uint8_t { forgotten, remembered };
template <>
struct PolicyOf<ResumedStateColumn> : PolicyAt<ResumedStateColumn::forgotten, 39> {};

// V1, mode align: which count of computed tokens gives the column that a pre-copy goes to?
// (known bug 44)
enum class RunningColumn : std::uint8_t {
  of_exact_count,
  of_optimistic_count,  // asynchronous: as if all drafts in flight were accepted
};
template <>
struct PolicyOf<RunningColumn> : PolicyAt<RunningColumn::of_exact_count, 46> {};

}  // namespace hybridscope
