// Policies of the metadata builders and of the CUDA graphs that their arrays are padded for. The
// values are in the order of the releases.
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

// How does the GDN builder lay a batch out? (known bug 6; semantics: gdn-batch)
enum class GdnBatch : std::uint8_t {
  padded_to_tokens,          // graph: as many rows as tokens; decodes beside prefills run with them
  padded_to_rows,            // 0.24.0: as many rows as requests; such decodes run by themselves
  first_chunks_as_prefills,  // 0.31.0: of one token too; padding rows are not counted as prefills
};
template <>
struct PolicyOf<GdnBatch> : PolicyAt<GdnBatch::padded_to_tokens, 66> {};

// Which sizes does the default list hold besides round numbers of tokens? (semantics:
// capture-sizes)
enum class CaptureList : std::uint8_t {
  round_token_counts,
  decode_batches_too,  // 0.29.0: with drafts, K + 1 times each round number of rows
  full_batch_too,      // 0.31.0: without drafts, max_num_seqs
};
template <>
struct PolicyOf<CaptureList> : PolicyAt<CaptureList::round_token_counts, 68> {};

// V2: for which sizes are graphs of uniform decodes captured, and in which order does a batch look
// at the graphs? (semantics: cudagraph-dispatch-v2)
enum class DecodeGraphs : std::uint8_t {
  rounded_list,          // the whole list is rounded to K + 1; the smallest size is taken
  each_size_rounded,     // 0.25.0: other batches keep the list as it is; the smallest of all sizes
  full_before_piecewise  // 0.29.0: the smallest full graph, then the smallest piecewise one
};
template <>
struct PolicyOf<DecodeGraphs> : PolicyAt<DecodeGraphs::rounded_list, 69> {};

}  // namespace hybridscope
