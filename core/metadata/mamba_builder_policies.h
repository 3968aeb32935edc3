// Policies of the builders of Mamba1 and Mamba2. The values are in the order of the releases.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// What is the last token of a prompt that was padded with placeholder drafts to Mamba1 and Mamba2
// builders that class rows by is_prefilling? (known bug 8; semantics: mamba-short-extends)
enum class PaddedRowClass : std::uint8_t {
  prefill,              // its placeholders become part of the state
  decode_with_context,  // 0.30.0: a verify row, if its request has a state
};
template <>
struct PolicyOf<PaddedRowClass> : PolicyAt<PaddedRowClass::prefill, 62> {};

// What do Mamba1 and Mamba2 builders do with decode rows under speculation if no accepted counts
// are given? (semantics: mamba-missing-counts)
enum class MissingCounts : std::uint8_t {
  refused,        // an assert of the reference; the engine gives counts of 1 instead
  absent,         // 0.24.0: the rows run without counts, from column 0
  query_lengths,  // 0.32.0: all their tokens count as accepted
};
template <>
struct PolicyOf<MissingCounts> : PolicyAt<MissingCounts::refused, 63> {};

// Does the Mamba1 builder take the accepted counts that it is given? (semantics:
// mamba-missing-counts)
enum class Mamba1Counts : std::uint8_t {
  taken,
  ignored,  // 0.24.0: its decode rows have one token
};
template <>
struct PolicyOf<Mamba1Counts> : PolicyAt<Mamba1Counts::taken, 64> {};

// Mode all: what do the arrays of Mamba1 and Mamba2 builders hold? (semantics: mamba-all-arrays)
enum class AllModeArrays : std::uint8_t {
  cut_to_tokens,   // graph: block columns for each decode token
  cut_to_rows,     // 0.24.0: for each row, tables K columns wider; Mamba1 has chunks of a block
  writes_counted,  // 0.31.0: and how many blocks prefills fill
};
template <>
struct PolicyOf<AllModeArrays> : PolicyAt<AllModeArrays::cut_to_tokens, 65> {};

}  // namespace hybridscope
